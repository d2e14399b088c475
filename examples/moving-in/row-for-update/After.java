import io.firstcome.client.ClaimOutcome;
import io.firstcome.client.FirstcomeClient;
import io.firstcome.client.Reason;
import io.firstcome.client.Refused;
import io.firstcome.client.WonPlace;

/** Places of a campaign, with Firstcome. Nobody waits for a row. */
final class After {
    private final FirstcomeClient firstcome;

    After(FirstcomeClient firstcome) {
        this.firstcome = firstcome;
    }

    String takePlace(String campaign, String customer) {
        ClaimOutcome outcome = firstcome.claim(campaign, customer);
        if (outcome instanceof WonPlace won) {
            return "You have place " + won.rank();
        } else if (outcome instanceof Refused no) {
            return no.reason() == Reason.SOLD_OUT ? "Sold out" : "Not possible: " + no.reason();
        }
        return "Please try again"; // Unknown: it may have happened. The same request again tells.
    }
}
