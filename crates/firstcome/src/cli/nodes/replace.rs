//! `nodes reseed --replace`: ends a space that was begun in an emptied store, so that the one that was there is put back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use firstcome_api::node::Nodes;
use firstcome_core::SpaceId;
use firstcome_core::snapshot::Manifest;
use firstcome_journal::space_file::Purpose;
use firstcome_journal::{JournalError, Name, Reading};

use super::super::complaint::{Complaint, Exit};
use super::super::journal::{end_in_store, export_failed};
use super::super::source::{Presence, SpaceArgs, StoreArgs, Wanted, open_file};
use super::super::terminal::{confirmed, out};
use crate::config::StoreUrl;
use crate::offline::audit::restore;
use crate::offline::export::{self, Kind};

/// How long the servers of a space that has ended may need to read that: they answer `space_moved` from then on.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// Options of a reseed in the place of another space.
#[derive(Debug, Args)]
pub(super) struct ReplaceArgs {
    /// End the space of this identity, which was begun in the emptied store, and put the server's own back in its place.
    #[arg(long, value_name = "SPACE", requires = "file")]
    replace: Option<SpaceId>,
    /// The file that the space which ends is written into: `firstcome journal import` can bring it to another store.
    #[arg(long, value_name = "FILE", requires = "replace")]
    file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    space: SpaceArgs,
}

/// The space that ends, and where it is.
struct Replaced {
    space: SpaceId,
    space_name: String,
    store: StoreArgs,
    url: StoreUrl,
    file: PathBuf,
}

impl ReplaceArgs {
    /// Says whether a space is to be replaced.
    pub(super) fn is_wanted(&self) -> bool {
        self.replace.is_some()
    }

    /// Ends the space that is to be replaced and has the store forget it, once it is in its file; says whether the server's own
    /// is to be put back then: not where that is there already.
    ///
    /// With `yes` it ends without asking, even if it has results.
    pub(super) async fn make_room(self, server: &Nodes, yes: bool) -> Result<bool, Complaint> {
        let Self { replace: Some(space), file: Some(file), store, space: name } = self else {
            return agree(yes).map(|()| true);
        };
        let old = "the server does not say which space it has: it is of an older build";
        let own: SpaceId = server.space.parse().map_err(|_| Complaint::own(old.to_owned()))?;
        if space == own {
            return Err(Complaint::usage(format!("space {space} is that of the server itself")));
        }
        let url = store.url()?;
        let wanted = Wanted { name: &name.space, space, presence: Presence::There };
        match store.try_to_write(&url, &wanted).await? {
            Ok(journal) => journal.close().await,
            // An earlier run of this command came so far.
            Err(JournalError::Marked { .. } | JournalError::Gone(_)) => {
                return agree(yes).map(|()| true);
            }
            Err(JournalError::OtherSpace { found, .. }) if found == own => return Ok(false),
            Err(failure) => return Err(Complaint::about_store(&url, &failure)),
        }
        let replaced = Replaced {
            space,
            space_name: name.space.clone(),
            store: store.clone(),
            url: url.clone(),
            file: file.clone(),
        };
        let end = tokio::task::spawn_blocking(move || replaced.end(yes));
        let end = end.await.map_err(anyhow::Error::from)??;
        tokio::time::sleep(READ_WITHIN).await;
        let journal = store.open_to_write(&url, &wanted).await?;
        let who = server.nodes.iter().find(|node| node.this).map_or("", |node| &node.address);
        let reached = server.position.rsplit('.').next().and_then(|text| text.parse().ok());
        let vacated = journal.vacate(end, (own, reached.unwrap_or(0), who)).await;
        journal.close().await;
        vacated.map_err(|failure| Complaint::about_store(&url, &failure))?;
        out::talk(format!("space {space} has ended, and is in {}", file.display()));
        Ok(true)
    }
}

impl Replaced {
    /// Writes the space into its file and ends it in its store; returns the entry that ends it.
    fn end(&self, yes: bool) -> Result<(u64, Name), Complaint> {
        let name = self.space_name.as_str();
        let journal = self.store.read(&self.url, name, Vec::new())?;
        let last = if self.file.exists() {
            let (last, results) = self.written_before()?;
            self.agree(results, yes)?;
            last
        } else {
            let head = journal.head()?;
            let mut counted = None;
            let mut end = |applied, results| {
                self.agree(results, yes)?;
                counted = Some(results);
                Ok(end_in_store(&self.store, name, &head, applied)?)
            };
            let exported = export::run(&journal, &self.file, Kind::Move(&mut end), |_, _| {});
            let exported = exported.map_err(|why| export_failed(why, &journal))?;
            match counted {
                Some(_) if yes => {}
                Some(counted) => {
                    got_none_since(self.space, &self.file, (counted, exported.results))?;
                }
                None => self.agree(exported.results, yes)?,
            }
            exported.last
        };
        let journal = self.store.read(&self.url, name, Vec::new())?;
        match journal.entries(last + 1).next().transpose()? {
            Some((entry, name)) if entry.is_end() => Ok((entry.position, name)),
            _ => Err(Complaint::new(
                Exit::Refused,
                format!("the space did not end behind what {} has", self.file.display()),
            )
            .hint("name another --file")),
        }
    }

    /// Refuses to end a space with results, and asks whether one without is to end, unless that is said already.
    fn agree(&self, results: u64, yes: bool) -> Result<(), Complaint> {
        if results == 0 || yes {
            return agree(yes);
        }
        let said = format!(
            "space {} has {results} results (claims, cancels and what else a ledger gets): nothing was changed",
            self.space
        );
        Err(Complaint::new(Exit::Refused, said)
            .hint("keep that space, or tell those whom they are about; --yes ends it all the same"))
    }

    /// Returns the last position and the number of results in the file, which an earlier run of this command wrote.
    fn written_before(&self) -> Result<(u64, u64), Complaint> {
        let file = open_file(&self.file)?;
        if file.about().space != self.space || file.about().purpose != Purpose::Move {
            let said = format!("{} has another space", self.file.display());
            return Err(Complaint::usage(said).hint("nothing is written over: name another --file"));
        }
        let journal = Reading::File(file);
        let newest = journal.newest_snapshot()?.map(|bytes| Manifest::decode(&bytes)).transpose();
        let newest = newest.map_err(anyhow::Error::from)?.expect("a whole file ends with a state");
        let state = restore(&journal, &newest)?;
        Ok((state.position(), state.last_result()))
    }
}

/// Refuses to go on with a space that got results after its results were counted: its servers went on while somebody was asked.
fn got_none_since(
    space: SpaceId,
    file: &Path,
    (counted, results): (u64, u64),
) -> Result<(), Complaint> {
    if results == counted {
        return Ok(());
    }
    let said = format!(
        "space {space} had {counted} results when they were counted, and {results} when it ended: nothing was removed, and {} has \
         them",
        file.display()
    );
    Err(Complaint::new(Exit::Refused, said)
        .hint("tell those whom they are about; the same command with --yes goes on from here"))
}

/// Asks whether it is to be done, unless that is said already.
fn agree(yes: bool) -> Result<(), Complaint> {
    if yes || confirmed()? {
        return Ok(());
    }
    Err(Complaint::new(Exit::Refused, "not confirmed: nothing was changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_that_gets_results_while_somebody_is_asked_is_not_removed() {
        let (space, file) = (SpaceId([7; 16]), Path::new("autumn.fcspace"));
        assert!(got_none_since(space, file, (0, 0)).is_ok());
        let refused = got_none_since(space, file, (0, 2)).unwrap_err();
        let said = refused.to_string();
        for words in
            ["had 0 results", "and 2 when it ended", "nothing was removed", "autumn.fcspace"]
        {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(refused.print(false), Exit::Refused.code());
    }
}
