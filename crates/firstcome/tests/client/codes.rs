//! Coupon codes: imported, issued, used, marked, exported.

use std::time::Duration;

use firstcome_client::{
    CampaignRequest, Client, CodeSource, CodeVerdict, CodesRequest, ImportCodesRequest,
    MarkCodesRequest, PoolRequest, Refusal, ReissueRequest, UseCode,
};

use crate::server::{Server, no, yes};

async fn sale(server: &Server, name: &str, capacity: Option<u32>, codes: CodesRequest) -> Client {
    let client = server.client();
    let pools = vec![PoolRequest::coded("main", capacity, codes)];
    let opens_at = Some("now".to_owned());
    let settings = CampaignRequest { opens_at, pools, ..CampaignRequest::default() };
    yes(client.create_campaign(name, &settings).await);
    client
}

#[tokio::test]
async fn a_code_is_used_from_its_claim_to_its_rollback() {
    let server = Server::start();
    let client = sale(&server, "sale", Some(9), CodesRequest::default()).await;
    let won = yes(client.claim("sale", "ann").await);
    let code = won.code.unwrap().0.into_owned();
    let order = |reference: &str| UseCode::new(code.clone(), reference);
    assert!(!format!("{:?}", order("o1")).contains(&code), "it is not logged by accident");
    let minute = Some(Duration::from_secs(60));
    let reserved = yes(client.reserve_code("sale", &order("o1"), minute).await);
    assert_eq!((&*reserved.outcome, reserved.rank), ("reserved", 1));
    assert_eq!(no(client.redeem_code("sale", &order("o2")).await), Refusal::CodeReserved);
    let redeemed = yes(client.redeem_code("sale", &order("o1").customer("c1")).await);
    assert_eq!(yes(client.redeem_code("sale", &order("o1")).await).at, redeemed.at);
    assert_eq!(no(client.redeem_code("sale", &order("o2")).await), Refusal::CodeUsed);
    assert_eq!(no(client.release_code("sale", &order("o1")).await), Refusal::AlreadyRedeemed);
    let back = yes(client.roll_back_code("sale", &order("o1")).await);
    assert_eq!(back.expired, Some(false));
    let again = no(client.redeem_code("sale", &order("o1")).await);
    assert_eq!(again, Refusal::AlreadyRolledBack);
    let typed = UseCode::new("4F2K", "o1").pool("main").subject("ann");
    assert_eq!(no(client.redeem_code("sale", &typed).await), Refusal::Malformed);
    let found = yes(client.look_up_code("sale", &code, None).await);
    assert_eq!((found.codes[0].references.len(), found.more), (1, false));

    let replace = ReissueRequest { subject: "ann".into(), rank: 1, ..ReissueRequest::default() };
    let new = yes(client.reissue_code("sale", &replace).await);
    assert_eq!(new.issue, 2);
    assert_eq!(no(client.redeem_code("sale", &order("o3")).await), Refusal::CodeRevoked);
    let stale = ReissueRequest { issue: Some(4), ..replace };
    let refused = no(client.reissue_code("sale", &stale).await);
    assert_eq!(refused, Refusal::ReissuedSince { issue: Some(2) });
    let which = MarkCodesRequest { ranks: vec![1], ..MarkCodesRequest::default() };
    for (verdict, standing) in [
        (CodeVerdict::Suspend, "suspended"),
        (CodeVerdict::Restore, "issued"),
        (CodeVerdict::Revoke, "revoked"),
    ] {
        let marked = yes(client.mark_codes("sale", verdict, &which).await);
        assert_eq!((marked.changed, &*marked.verdict), (1, verdict.as_str()));
        let found = yes(client.codes_of("sale", "ann", None).await);
        assert_eq!(found.codes[0].standing, standing);
    }
    let mut winners = client.winners_with_codes("sale", None);
    let first = winners.next().await.unwrap().unwrap();
    assert_eq!((first.code, first.subject), (new.code, "ann".to_owned()));
    let mut winners = client.winners("sale", None);
    assert_eq!(winners.next().await.unwrap().unwrap().code, None);
}

#[tokio::test]
async fn a_file_of_codes_is_imported_once() {
    let server = Server::start();
    let imported = CodesRequest { source: CodeSource::Imported, ..CodesRequest::default() };
    let client = sale(&server, "sale", None, imported).await;
    let mut file: Vec<String> = (0..9_000).map(|n| format!("Partner-{n}")).collect();
    file[8_999] = "Partner-1".to_owned();
    let of = |digest: &str| ImportCodesRequest { digest: digest.into(), ..Default::default() };
    let digest = of("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    let mut steps = Vec::new();
    let done = client.import_codes("sale", &digest, &file, |taken| steps.push(taken)).await;
    let done = yes(done);
    assert_eq!((done.lines, done.added), (Some(9_000), Some(8_999)));
    assert_eq!(done.duplicates, Some(vec![9_000]));
    assert_eq!(steps, [0, 4_000, 8_000, 9_000]);
    let again = yes(client.import_codes("sale", &digest, &file, |_| {}).await);
    assert_eq!((again.added, again.import), (done.added, done.import.clone()));
    let listed = yes(client.code_imports("sale", Some("main")).await);
    assert_eq!((listed.imports.len(), listed.open), (1, None));
    let bad = ["good".to_owned(), "tab\there".to_owned()];
    let other = of("another-digest-of-another-file");
    let refused = no(client.import_codes("sale", &other, &bad, |_| {}).await);
    let Refusal::BadCode { errors } = refused else { panic!("{refused:?}") };
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2]);
    // An exact one takes the spelling that the server has not.
    let spelled = ["New-1".to_owned(), "new-1".to_owned(), "PARTNER-1".to_owned()];
    let exact = ImportCodesRequest { exact: true, ..other };
    let taken = yes(client.import_codes("sale", &exact, &spelled, |_| {}).await);
    assert_eq!((taken.added, taken.duplicates), (Some(2), Some(vec![3])));
    // One that was committed says so, and stays.
    let kept = yes(client.discard_code_import("sale", &done.import, Some("main")).await);
    assert_eq!(kept.outcome, "codes_imported");
    assert_eq!(yes(client.claim("sale", "ann").await).code.unwrap().0, "Partner-0");
}
