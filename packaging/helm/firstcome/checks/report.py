"""What was checked, and what was wrong."""


class Report:
    """Prints a line for each check, and counts."""

    def __init__(self):
        self.right, self.wrong = 0, 0

    def that(self, holds, what, otherwise=""):
        """Notes whether something holds; `otherwise` is printed if it does not."""
        if holds:
            self.right += 1
            print(f"ok    {what}", flush=True)
        else:
            self.wrong += 1
            print(f"WRONG {what}{': ' if otherwise else ''}{otherwise}", flush=True)
        return bool(holds)

    def end(self):
        """Prints the sum; returns the exit code."""
        print(f"{self.right} checks hold, {self.wrong} do not")
        return 0 if self.right and not self.wrong else 1
