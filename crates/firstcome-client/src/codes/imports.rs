//! Imports of coupon codes, chunk by chunk.

use crate::answer::Answer;
use crate::client::Client;
use crate::error::Error;
use crate::error::refusal::Refusal;
use crate::routes::Ask;
use firstcome_api::code::{
    CodeImport, CodeImportList, CommitCodesRequest, ImportCodesRequest, ImportLinesRequest,
};
use firstcome_api::hidden::Hidden;

/// The most codes that a chunk may have.
const CHUNK: usize = 4_000;

impl Client {
    /// Imports codes into a pool of imported codes, 1 to 2,000,000 of up to 64 bytes, 4,000 in a request. `progress` is told how
    /// many are taken.
    ///
    /// The `digest` of the file, such as its SHA-256 in hexadecimal digits, says which one it is: an import that was interrupted
    /// goes on within an hour where it was, and one that is complete changes nothing. Its `lines` are counted here. Nothing is in
    /// stock before the last request.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]. The deadline is that of each request.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the import may go on where it was for an hour; then it is gone.
    pub async fn import_codes(
        &self,
        campaign: &str,
        file: &ImportCodesRequest,
        codes: &[impl AsRef<str>],
        mut progress: impl FnMut(u32),
    ) -> Result<Answer<CodeImport>, Error> {
        let lines = u32::try_from(codes.len()).unwrap_or(u32::MAX);
        let pool = file.pool.clone();
        let begin = ImportCodesRequest { lines, ..file.clone() };
        let mut at = match self.begin_code_import(campaign, &begin).await? {
            Answer::Yes(begun) => begun,
            no @ Answer::No(..) => return Ok(no),
        };
        let import = at.import.clone();
        while let Some(next) = at.next.filter(|next| *next < lines) {
            progress(next);
            let rest = &codes[next as usize..];
            let chunk = Hidden(rest.iter().take(CHUNK).map(|code| code.as_ref().into()).collect());
            let pool = pool.as_deref().map(Into::into);
            let body = ImportLinesRequest { pool, first: next, codes: chunk };
            match self.import_code_lines(campaign, &import, &body).await? {
                Answer::Yes(staged) => at = staged,
                // The server lost a chunk that it had, after a failover: it goes on from there.
                Answer::No(Refusal::ChunkMissing { next: Some(missing) }, _) if missing < next => {
                    at.next = Some(missing);
                }
                no @ Answer::No(..) => return Ok(no),
            }
        }
        progress(lines);
        if at.outcome == "codes_imported" {
            return Ok(Answer::Yes(at));
        }
        self.commit_code_import(campaign, &import, &CommitCodesRequest { pool, lines }).await
    }

    /// Begins an import, or says how far the import of the same file is.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes before the first lines.
    pub async fn begin_code_import(
        &self,
        campaign: &str,
        file: &ImportCodesRequest,
    ) -> Result<Answer<CodeImport>, Error> {
        self.call(Ask::code_import(campaign, file)).await
    }

    /// Brings lines of an import: up to 4,000. Lines that were brought before are left alone.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn import_code_lines(
        &self,
        campaign: &str,
        import: &str,
        lines: &ImportLinesRequest<'_>,
    ) -> Result<Answer<CodeImport>, Error> {
        self.call(Ask::code_import_step(campaign, import, "lines", lines)).await
    }

    /// Puts all codes of an import in stock.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn commit_code_import(
        &self,
        campaign: &str,
        import: &str,
        commit: &CommitCodesRequest,
    ) -> Result<Answer<CodeImport>, Error> {
        self.call(Ask::code_import_step(campaign, import, "commit", commit)).await
    }

    /// Returns an import up that was not committed.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`].
    ///
    /// # Cancel safety
    ///
    /// As all methods of [`Client`].
    pub async fn discard_code_import(
        &self,
        campaign: &str,
        import: &str,
        pool: Option<&str>,
    ) -> Result<Answer<CodeImport>, Error> {
        self.call(Ask::discard_code_import(campaign, import, pool)).await
    }

    /// Reads the imports of a pool.
    ///
    /// # Errors
    ///
    /// As all methods of [`Client`]; never [`Error::Unknown`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changes.
    pub async fn code_imports(
        &self,
        campaign: &str,
        pool: Option<&str>,
    ) -> Result<Answer<CodeImportList>, Error> {
        self.call(Ask::code_imports(campaign, pool)).await
    }
}
