use firstcome_api::key::Role;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

struct Scene {
    file: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    flags: BTreeMap<&'static str, String>,
}

fn scene(name: &str, contents: &str) -> Scene {
    let folder = std::env::temp_dir().join(format!("firstcome-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(&path, contents).unwrap();
    Scene { file: Some(path), environment: BTreeMap::new(), flags: BTreeMap::new() }
}

fn nothing() -> Scene {
    Scene { file: None, environment: BTreeMap::new(), flags: BTreeMap::new() }
}

impl Scene {
    fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flag(mut self, key: &'static str, value: &str) -> Self {
        self.flags.insert(key, value.to_owned());
        self
    }

    fn resolve(self) -> Result<Resolved, ConfigError> {
        let overrides = Overrides { file: self.file, flags: self.flags };
        resolve(&overrides, |name| self.environment.get(name).cloned())
    }

    fn refused(self) -> String {
        let error = self.resolve().expect_err("this configuration must be refused");
        let folder = std::env::temp_dir().join(format!("firstcome-config-{}/", std::process::id()));
        error.to_string().replace(&*folder.to_string_lossy(), "")
    }
}

#[test]
fn the_defaults_stand_when_nobody_says_anything() {
    let resolved = nothing().resolve().unwrap();
    assert_eq!(resolved.config.listen, "127.0.0.1:8080");
    assert_eq!(resolved.config.queue, 16_384);
    assert_eq!(resolved.config.keep_for, Some(Duration::from_secs(30 * 86_400)));
    assert!(resolved.config.memory_limit_mib >= 16);
    assert_eq!(resolved.origins.len(), SETTINGS.len());
    assert!(resolved.origins.values().all(|origin| *origin == SettingOrigin::Default));
}

#[test]
fn a_flag_beats_the_environment_and_the_environment_beats_the_file() {
    let file = "queue = 1\nconnections = 1\nidle_ms = 1\n";
    let resolved = scene("layers", file)
        .env("FIRSTCOME_QUEUE", "2")
        .env("FIRSTCOME_CONNECTIONS", "2")
        .flag("queue", "3")
        .resolve()
        .unwrap();
    assert_eq!(resolved.config.queue, 3);
    assert_eq!(resolved.config.connections, 2);
    assert_eq!(resolved.config.idle, Duration::from_millis(1));
    assert_eq!(resolved.origins["queue"].to_string(), "flag --queue");
    assert_eq!(resolved.origins["connections"].to_string(), "environment FIRSTCOME_CONNECTIONS");
    assert!(resolved.origins["idle_ms"].to_string().ends_with("layers.toml:3"));
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_word_that_was_meant() {
    let error = scene("unknown", "# mine\n\nlisten = \"[::1]:0\"\nconections = 5\n").resolve();
    let error = error.expect_err("no setting is called that");
    assert!(error.to_string().ends_with("unknown.toml:4: unknown setting `conections`"), "{error}");
    assert_eq!(error.hint(), "did you mean `connections`?");
}

#[test]
fn a_bad_value_names_the_place_it_stands_in() {
    let refused = scene("bad", "space = \"main\"\nqueue = -3\n").refused();
    assert_eq!(refused, "bad.toml:2: `queue` must be a whole number from 1 to 1000000, not `-3`");
    let refused = scene("nested", "[queue]\nsize = 3\n").refused();
    assert!(refused.starts_with("nested.toml:1: `queue` must be a string"), "{refused}");
    let refused = nothing().env("FIRSTCOME_ARCHIVE", "yes").refused();
    assert_eq!(
        refused,
        "environment FIRSTCOME_ARCHIVE: `archive` must be true or false, not `yes`"
    );
    let refused = nothing().flag("listen", "8080").refused();
    assert!(refused.starts_with("flag --listen: `listen` must be an address"), "{refused}");
    let refused = nothing().flag("keep_for", "thirty days").refused();
    assert!(
        refused.contains("like `90s`, `1h30m` or `30d`, not `thirty days`; or `never`"),
        "{refused}"
    );
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    let refused = scene("broken", "queue = 1\nlisten = = 3\n").refused();
    assert!(refused.starts_with("broken.toml:2: not valid TOML: "), "{refused}");
}

#[test]
fn another_store_is_refused_by_name() {
    let refused = nothing().flag("store", "mongodb://127.0.0.1").refused();
    assert!(refused.contains("names a `mongodb` store: this build knows redis://"), "{refused}");
}

#[test]
fn keys_come_from_the_file_with_their_role_and_campaigns() {
    let hash = "AB".repeat(32);
    let file = format!(
        "[[keys]]\nname = \"shop\"\nsha256 = \"{hash}\"\nrole = \"backend\"\ncampaigns = \"spring-\"\n\
         expires = \"2027-03-01T10:00:00+09:00\"\n"
    );
    let resolved = scene("keys", &file).resolve().unwrap();
    assert!(print(&resolved).contains("expires = \"2027-03-01T01:00:00.000000Z\""));
    let key = &resolved.config.keys[0];
    assert_eq!((key.role, key.campaigns.as_deref()), (Role::Backend, Some("spring-")));
    assert_eq!(key.sha256, [0xab; 32]);

    let refused = scene("role", "[[keys]]\nname = \"x\"\nrole = \"boss\"\n").refused();
    assert_eq!(
        refused,
        "role.toml:3: `keys.role` must be admin, operator, backend, redeem or read, not `boss`"
    );
    let refused = scene("short", "[[keys]]\nname = \"x\"\nsha256 = \"12\"\n").refused();
    assert!(refused.starts_with("short.toml:3: `keys.sha256` must be the 64"), "{refused}");
    let all = "[[keys]]\nname = \"x\"\ncampaigns = \"\"\n";
    let refused = scene("all", all).refused();
    assert!(refused.starts_with("all.toml:3: `keys.campaigns` must be the beginning"), "{refused}");
    let refused = scene("missing", "\n[[keys]]\nname = \"x\"\nrole = \"read\"\n").refused();
    assert!(refused.ends_with("`keys` has an entry without `sha256`"), "{refused}");
}

#[test]
fn a_secret_shows_itself_nowhere() {
    let scene = nothing().env("FIRSTCOME_ADMIN_KEY", "0123456789abcdef-secret");
    let resolved = scene.resolve().unwrap();
    assert_eq!(
        resolved.config.admin_key.as_ref().map(Secret::reveal),
        Some("0123456789abcdef-secret")
    );
    let everything = format!("{resolved:?} {} {}", print(&resolved), print_json(&resolved));
    assert!(!everything.contains("0123456789abcdef"), "{everything}");
    let refused = nothing().env("FIRSTCOME_ADMIN_KEY", "tooshort").refused();
    assert!(refused.ends_with("`admin_key` must have at least 16 characters"), "{refused}");
    assert!(!refused.contains("tooshort"));
}

#[test]
fn the_store_is_printed_without_its_password() {
    for url in ["redis://127.0.0.1:6379", "rediss+sentinel://a,b/main", "postgres://ann@h/db"] {
        let first = nothing().flag("store", url).resolve().unwrap();
        let page = print(&first);
        assert!(page.contains(&format!("\nstore = \"{url}\" ")), "{page}");
        assert_eq!(print_json(&first)["store"]["value"], url);
        let again = scene("store", &page).resolve().unwrap();
        assert_eq!(format!("{:?}", first.config), format!("{:?}", again.config));
    }
    let resolved = nothing().flag("store", "redis://ann:hunter2@db:6379/1").resolve().unwrap();
    let page = print(&resolved);
    assert!(page.contains("\n# store: redis://ann:…@db:6379/1, its password not shown"), "{page}");
    let document = print_json(&resolved);
    let shown = "redis://ann:…@db:6379/1";
    assert_eq!(document["store"]["value"]["without_password"], shown);
    let everything = format!("{resolved:?} {page} {document}");
    assert!(!everything.contains("hunter2"), "{everything}");
    // Alone before the @ it is a password, too.
    for url in ["rediss+sentinel://hunter2@a,b/main", "nats://hunter2@a", "nats://a?token=hunter2"]
    {
        let resolved = nothing().flag("store", url).resolve().unwrap();
        let everything = format!("{resolved:?} {} {}", print(&resolved), print_json(&resolved));
        assert!(!everything.contains("hunter2"), "{everything}");
    }
    let none = nothing().resolve().unwrap();
    assert!(print(&none).contains("\n# store: none "));
    assert_eq!(print_json(&none)["store"]["value"], serde_json::Value::Null);
}

#[test]
fn a_ledger_in_a_database_is_named_by_its_url_and_its_password_is_not_shown() {
    let url = "postgres://ann:hunter2-secret@db:5433/shop?sslmode=disable";
    let resolved = nothing().env("FIRSTCOME_LEDGER", url).resolve().unwrap();
    assert!(
        matches!(&resolved.config.ledger, LedgerChoice::Postgres(found) if found.reveal() == url)
    );
    let page = print(&resolved);
    assert!(page.contains("# ledger: postgres://ann@db:5433/shop?sslmode=disable"), "{page}");
    let everything = format!("{resolved:?} {page} {}", print_json(&resolved));
    assert!(!everything.contains("hunter2"), "{everything}");
    let open = nothing().flag("ledger", "postgres://ann@localhost/shop").resolve().unwrap();
    assert!(print(&open).contains("\nledger = \"postgres://ann@localhost/shop\""));
    let mysql = nothing().flag("ledger", "mysql://ann:hunter2@db/shop").resolve().unwrap();
    assert!(matches!(mysql.config.ledger, LedgerChoice::MySql(_)));
    assert!(print(&mysql).contains("# ledger: mysql://ann@db/shop"));
    assert!(!format!("{mysql:?} {}", print(&mysql)).contains("hunter2"));
    for (bad, named) in [
        ("postgres://ann:hunter2@/shop", "it names no host"),
        ("mysql://ann:hunter2@/shop", "it names no host"),
        ("mssql://ann:hunter2@db/shop", "names a `mssql` database"),
        ("ann:hunter2@db/shop", "must be sqlite, sqlite:FILE, none, postgres://… or mysql://…"),
        (
            "postgres",
            "must be sqlite, sqlite:FILE, none, postgres://… or mysql://…, not `postgres`",
        ),
    ] {
        let refused = nothing().flag("ledger", bad).refused();
        assert!(refused.contains(named) && !refused.contains("hunter2"), "{refused}");
    }
    let space = "x".repeat(54);
    let refused = nothing().flag("ledger", url).flag("space", &space).refused();
    assert!(refused.starts_with("flag --space: `space` may have 53 characters"), "{refused}");
}

#[test]
fn what_is_printed_can_be_read_again() {
    let hash = "0f".repeat(32);
    let file = format!(
        "queue = 7\n[[keys]]\nname = \"a \\\"b\\\"\"\nsha256 = \"{hash}\"\nrole = \"read\"\n"
    );
    let first = scene("once", &file).flag("snapshot_every", "90s").resolve().unwrap();
    let second = scene("twice", &print(&first)).resolve().unwrap();
    assert_eq!(format!("{:?}", first.config), format!("{:?}", second.config));
}

#[test]
fn subjects_have_a_rate_where_there_are_tokens_unless_somebody_says_otherwise() {
    let rate = |scene: Scene| {
        let rate = scene.resolve().unwrap().config.guards.rate_subject;
        rate.map(|rate| rate.to_string())
    };
    let secret = "a-secret-that-has-thirty-two-bytes";
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(rate(nothing()), None);
    assert_eq!(rate(nothing().env("FIRSTCOME_TOKEN_SECRET", secret)), some("20/s burst 40"));
    let file = format!("[[token_keys]]\nid = \"shop\"\nsecret = \"{secret}\"\n");
    assert_eq!(rate(scene("tokens", &file)), some("20/s burst 40"));
    let set = |text| nothing().env("FIRSTCOME_TOKEN_SECRET", secret).flag("rate_subject", text);
    assert_eq!((rate(set("none")), rate(set("5/m"))), (None, some("5/m")));
}

#[test]
fn every_setting_is_documented() {
    let page = include_str!("../../../../docs/reference/configuration.md");
    for setting in SETTINGS {
        assert!(page.contains(&format!("`{}`", setting.key)), "{} is not documented", setting.key);
        if !setting.file_only {
            assert!(page.contains(&setting.variable()), "{} is not documented", setting.variable());
        }
    }
}
