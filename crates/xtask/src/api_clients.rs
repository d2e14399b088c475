//! Clients that generators make from the description of the routes: made, and compiled.
//!
//! The description is `docs/reference/openapi.json`, which a test compares with what a server gives. A warning of
//! openapi-python-client is a failure: it leaves out what it warns about. Everything is below `target/api-clients`.

use crate::commands::run;
use crate::python;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The versions that were tried.
const PYTHON: [&str; 2] = ["openapi-python-client==0.29.1", "httpx==0.28.1"];
const GENERATOR: &str = "org.openapitools:openapi-generator-cli:7.17.0";
const GENERATOR_JAR: &str = "openapi-generator-cli-7.17.0.jar";
const TYPESCRIPT: &str = "typescript@7.0.2";

/// It knows no lines of JSON: they are bytes to it.
const PYTHON_CONFIG: &str =
    "content_type_overrides:\n  application/x-ndjson: application/octet-stream\n";

/// What the generator for Python is to call its package.
const PACKAGE: &str = "firstcome_client";
/// Imports every module of the client: a name that is missing shows.
const IMPORT_ALL: &str = "import importlib, pkgutil, firstcome_client as client\n\
    names = [found.name for found in pkgutil.walk_packages(client.__path__, 'firstcome_client.')]\n\
    [importlib.import_module(name) for name in names]\n\
    print(len(names), 'modules')";
const TSCONFIG: &str = r#"{"compilerOptions": {"target": "es2020", "lib": ["es2020", "dom"], "module": "commonjs",
    "strict": true, "noEmit": true}, "include": ["**/*.ts"]}"#;

/// What the client in Kotlin needs, and its compiler.
const KOTLIN_POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>firstcome</groupId><artifactId>kotlin-client</artifactId><version>0</version>
  <dependencies>
    <dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-stdlib</artifactId><version>2.2.20</version></dependency>
    <dependency><groupId>org.jetbrains.kotlin</groupId><artifactId>kotlin-compiler-embeddable</artifactId><version>2.2.20</version></dependency>
    <dependency><groupId>com.squareup.okhttp3</groupId><artifactId>okhttp</artifactId><version>4.12.0</version></dependency>
    <dependency><groupId>com.google.code.gson</groupId><artifactId>gson</artifactId><version>2.13.2</version></dependency>
  </dependencies>
</project>
"#;
const KOTLIN_COMPILER: &str = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler";

/// A language, and what makes and compiles its client.
type Language = (&'static str, fn(&Place) -> Result<(), String>);
const LANGUAGES: [Language; 4] = [
    ("python", python_client),
    ("typescript", typescript_client),
    ("java", java_client),
    ("kotlin", kotlin_client),
];

/// Makes and compiles the clients of these languages, of all where none is named; gives the exit code.
pub(crate) fn check(names: &[String]) -> u8 {
    let wanted = |(name, _): &&Language| names.is_empty() || names.iter().any(|n| n == name);
    if let Some(other) = names.iter().find(|n| !LANGUAGES.iter().any(|(name, _)| name == n)) {
        eprintln!("there is no {other:?}: python, typescript, java, kotlin");
        return 2;
    }
    let place = match Place::new() {
        Ok(place) => place,
        Err(why) => {
            eprintln!("{why}");
            return 1;
        }
    };
    let mut code = 0;
    for (name, make) in LANGUAGES.iter().filter(wanted) {
        match make(&place) {
            Ok(()) => println!("{name}: made and compiled"),
            Err(why) => {
                eprintln!("{name}: {why}");
                code = 1;
            }
        }
    }
    code
}

/// Where the description is, and where clients are made.
struct Place {
    description: PathBuf,
    target: PathBuf,
}

impl Place {
    fn new() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = root.join("target/api-clients");
        fs::create_dir_all(&target).map_err(|why| format!("{}: {why}", target.display()))?;
        Ok(Self { description: root.join("docs/reference/openapi.json"), target })
    }

    /// Returns an empty folder for a client.
    fn client(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.target.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        }
        Ok(folder)
    }

    /// Returns the generator for Java and TypeScript, which Maven brings.
    fn generator(&self) -> Result<PathBuf, String> {
        let jar = self.target.join(GENERATOR_JAR);
        if !jar.is_file() {
            let mut maven = Command::new("mvn");
            maven.args(["--quiet", "--batch-mode", "dependency:copy"]);
            maven.arg(format!("-Dartifact={GENERATOR}"));
            maven.arg(format!("-DoutputDirectory={}", self.target.display()));
            succeed(maven)?;
        }
        Ok(jar)
    }

    /// Has the generator make a client.
    fn generate(&self, options: &[&str], into: &Path) -> Result<(), String> {
        let mut java = Command::new("java");
        java.arg("-jar").arg(self.generator()?).arg("generate").args(options);
        java.arg("-i").arg(&self.description).arg("-o").arg(into);
        // It tells of each file it writes, and thanks for being used.
        let said = java.output().map_err(|why| format!("cannot run java: {why}"))?;
        if said.status.success() {
            return Ok(());
        }
        let lines = String::from_utf8_lossy(&said.stdout);
        Err(format!("{lines}{}", String::from_utf8_lossy(&said.stderr)))
    }
}

fn succeed(command: Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    if run(command) == 0 { Ok(()) } else { Err(format!("{shown} failed")) }
}

fn python_client(place: &Place) -> Result<(), String> {
    let programs = python::programs(&PYTHON)?;
    let client = place.client("python")?;
    let mut generator = Command::new(programs.join("openapi-python-client"));
    generator.args(["generate", "--fail-on-warning", "--path"]).arg(&place.description);
    generator.arg("--output-path").arg(&client);
    let config = place.target.join("python.yaml");
    fs::write(&config, PYTHON_CONFIG).map_err(|why| format!("{}: {why}", config.display()))?;
    generator.arg("--config").arg(&config);
    // It has its own formatter run over what it made, and finds it so.
    let before = std::env::var_os("PATH").unwrap_or_default();
    let path = [programs.clone()].into_iter().chain(std::env::split_paths(&before));
    generator.env("PATH", std::env::join_paths(path).map_err(|why| why.to_string())?);
    succeed(generator)?;
    if !client.join(PACKAGE).is_dir() {
        return Err(format!("the package is not called {PACKAGE}"));
    }
    let mut python = Command::new(programs.join("python"));
    python.args(["-c", IMPORT_ALL]).current_dir(&client);
    succeed(python)
}

fn typescript_client(place: &Place) -> Result<(), String> {
    let client = place.client("typescript")?;
    place.generate(&["-g", "typescript-fetch"], &client)?;
    let compiler = place.target.join("node_modules/typescript/bin/tsc");
    let wanted = TYPESCRIPT.rsplit('@').next().unwrap_or_default();
    let package = place.target.join("node_modules/typescript/package.json");
    let known = fs::read_to_string(package).unwrap_or_default();
    if !known.contains(&format!("\"version\": \"{wanted}\"")) {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--silent", "--prefix"]);
        npm.arg(&place.target).arg(TYPESCRIPT);
        succeed(npm)?;
    }
    let settings = client.join("tsconfig.json");
    fs::write(&settings, TSCONFIG).map_err(|why| format!("{}: {why}", settings.display()))?;
    let mut node = Command::new("node");
    node.arg(&compiler).arg("--project").arg(&settings);
    succeed(node)
}

fn java_client(place: &Place) -> Result<(), String> {
    let client = place.client("java")?;
    place.generate(&["-g", "java", "--library", "native"], &client)?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "dependency:copy-dependencies"]);
    maven.args(["-DincludeScope=compile", "-DoutputDirectory=libraries"]);
    maven.current_dir(&client);
    succeed(maven)?;
    let (mut sources, mut folders) = (Vec::new(), vec![client.join("src/main")]);
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension() == Some(OsStr::new("java")) => sources.push(path),
                false => {}
            }
        }
    }
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-d", "classes", "-cp", "libraries/*"]).args(&sources);
    // It notes that some of it uses what is deprecated.
    javac.current_dir(&client).stderr(Stdio::inherit());
    succeed(javac)
}

fn kotlin_client(place: &Place) -> Result<(), String> {
    let client = place.client("kotlin")?;
    let json = "--additional-properties=serializationLibrary=gson";
    place.generate(&["-g", "kotlin", json], &client)?;
    let pom = client.join("pom.xml");
    fs::write(&pom, KOTLIN_POM).map_err(|why| format!("{}: {why}", pom.display()))?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "dependency:copy-dependencies"]);
    maven.arg("-DoutputDirectory=libraries").current_dir(&client);
    succeed(maven)?;
    let libraries = fs::read_dir(client.join("libraries")).map_err(|why| why.to_string())?;
    let libraries: Vec<PathBuf> = libraries.flatten().map(|library| library.path()).collect();
    let libraries = std::env::join_paths(libraries).map_err(|why| why.to_string())?;
    let mut compiler = Command::new("java");
    compiler.arg("-cp").arg(&libraries).arg(KOTLIN_COMPILER);
    compiler.args(["-no-stdlib", "-no-reflect", "-nowarn", "-d", "classes", "-classpath"]);
    compiler.arg(&libraries).arg("src/main").current_dir(&client);
    succeed(compiler)
}
