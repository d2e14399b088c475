//! The image of the program, from `Containerfile`, and with `--check` that it does what its page promises.

mod check;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::commands::{output, root};
use crate::dist::{self, step};
use crate::needs;

/// What the image is called here.
const IMAGE: &str = "localhost/firstcome";

/// Bytes that the image may have.
const LARGEST: u64 = 40 << 20;

/// Makes the image, and with `--check` tries it; with `--files` makes only what is in it. Gives the exit code.
pub(crate) fn container(args: &[String]) -> u8 {
    let done = match args {
        [] => image(),
        [only] if only == "--files" => files(),
        [only] if only == "--check" => image().and_then(|()| check::check()),
        _ => {
            eprintln!("cargo xtask container knows no options but --check and --files");
            return 2;
        }
    };
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("{why}");
            1
        }
    }
}

/// Builds the image around a program that is built on this machine, twice: what is in it must be the same.
fn image() -> Result<(), String> {
    needs::provide_containers()?;
    files()?;
    let time = dist::time_of_sources()?;
    let layers = || {
        let mut build = Command::new("buildah");
        build.args(["build", "--quiet", "--format=docker", "--build-arg=PROGRAM=built"]);
        build.args([format!("--timestamp={time}"), format!("--tag={IMAGE}")]);
        output(build.arg(root()).env("BUILDAH_ISOLATION", "chroot"))?;
        inspect("{{.RootFS.Layers}}")
    };
    let first = step("image", layers)?;
    let second = step("image again", layers)?;
    if first != second {
        return Err(format!("the same files make different layers: {first} and {second}"));
    }
    let size: u64 = inspect("{{.Size}}")?.parse().map_err(|why| format!("its size: {why}"))?;
    println!("{IMAGE}: {:.1} MiB, layers {first}", size as f64 / f64::from(1 << 20));
    if size <= LARGEST {
        Ok(())
    } else {
        Err(format!("it has {size} bytes, {LARGEST} are the most"))
    }
}

fn inspect(form: &str) -> Result<String, String> {
    let said = output(Command::new("podman").args(["image", "inspect", "--format", form, IMAGE]))?;
    Ok(said.trim().to_owned())
}

/// Makes what the image has, in `target/container`: the program, licences, the bill of materials, and an empty folder for data.
fn files() -> Result<(), String> {
    let folder = root().join("target/container");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    }
    let image = folder.join("image");
    let (licences, data) = (image.join("licences"), folder.join("volume/data"));
    for made in [&licences, &data] {
        fs::create_dir_all(made).map_err(|why| format!("{}: {why}", made.display()))?;
    }
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&data, closed).map_err(|why| format!("{}: {why}", data.display()))?;
    // Beside the folder: symbols are no part of the image.
    dist::make_program(&image.join("firstcome"), &root().join("target"))?;
    step("licences", || dist::write_licences(&licences))?;
    let time = dist::time_of_sources()?;
    step("bill of materials", || dist::write_bill(&image.join("firstcome.cdx.json"), time))
}
