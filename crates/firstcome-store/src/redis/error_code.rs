//! The code of an error that a Redis answered with.

use redis::RedisError;

/// What servers before 7.0 say where a command inside a script fails.
const IN_A_SCRIPT: &str = "Error running script";

/// What servers before 7.2 say, without a code of its own, where the user has no right to a command inside a script.
const DENIED_IN_A_SCRIPT: &str = "The user executing the script can't ";

/// Returns the code of an error, and the server's words with the code among them.
///
/// The code is the first word. Before Redis 7.0 an error inside a script has the general code `ERR`, and the code of the
/// command that failed stands behind the place in the script: `ERR Error running script (call to f_…): @user_script:1:
/// @user_script: 1: -READONLY You can't …`. Where a command inside a script is denied, servers before 7.2 have `ERR`, too:
/// it is given the code of the later ones, `NOPERM`.
pub(super) fn read(error: &RedisError) -> (String, String) {
    let (Some(code), words) = (error.code(), error.detail().unwrap_or_default()) else {
        // Something the client says, not the server.
        return (String::new(), error.to_string());
    };
    let detail = format!("{code} {words}");
    let inner = match code {
        "ERR" if words.starts_with(IN_A_SCRIPT) => code_inside(words),
        "ERR" if words.starts_with(DENIED_IN_A_SCRIPT) => Some("NOPERM"),
        _ => None,
    };
    (inner.unwrap_or(code).to_owned(), detail)
}

/// Returns the first word that begins with a dash and is in capitals.
fn code_inside(words: &str) -> Option<&str> {
    let mut found = words.split_ascii_whitespace().filter_map(|word| word.strip_prefix('-'));
    found.find(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_command_inside_a_script_of_an_older_server_is_found() {
        let said = "Error running script (call to f_1b2): @user_script:1: @user_script: 1: \
                    -MISCONF Redis is configured to save RDB snapshots, but - it cannot";
        assert_eq!(code_inside(said), Some("MISCONF"));
        let ours =
            "Error running script (call to f_1b2): @user_script:3: user_script:3: -1 is too few";
        assert_eq!(code_inside(ours), None);
    }
}
