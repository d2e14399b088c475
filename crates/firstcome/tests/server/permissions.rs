//! What a server writes, nobody else on its machine may read.

use crate::process::Server;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns the files of a folder that others than its user may open.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        if mode & 0o077 != 0 {
            found.push(format!("{} {:o}", path.display(), mode & 0o777));
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

#[test]
fn in_a_folder_that_others_may_enter_the_files_are_closed_to_them() {
    let folder = tempfile::tempdir().unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let server = Server::on(folder.path());
    let mut talk = server.talk();
    talk.open_campaign("drop", 10);
    talk.claim("drop", "ann").says(201, "won");
    assert_eq!(open_to_others(folder.path()), Vec::<String>::new());
    server.terminate();
    let (ended, said) = server.ended();
    assert!(ended.success(), "{said}");
    assert!(said.contains("other users of this machine may enter"), "{said}");
    assert!(said.contains("chmod -R go= "), "{said}");

    // Closed as it says, there is nothing to say.
    set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let server = Server::on(folder.path());
    server.terminate();
    let (_, said) = server.ended();
    assert!(!said.contains("other users"), "{said}");
}
