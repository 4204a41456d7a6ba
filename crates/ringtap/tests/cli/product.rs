//! Product of captures by warrants, as files and at a mediation function.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::net::TcpListener;

use ringtap_handover::PduPayload;

use crate::mediation::{function, pdus};
use crate::run::file;
use crate::warrant::{Files, OWN};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/calls.pcap");

const WARRANT: &str = "\
liid = 'LI-17'
case = 'C-17'
authority = 'District Court'
legal_basis = 'Act 1'
requester = 'Agency A'
authorisation_country = 'GB'
agency = 'agency-a'
operator = 'operator'
begins = '2020-01-01'
ends = '2100-01-01'
delivers = 'both'
target = ['number:+441632960203']
";

/// A register with one warrant in force.
fn in_force() -> Files {
    let files = Files::with_people();
    let path = file(files.folder.path(), "warrant.toml", WARRANT.as_bytes());
    files.done("ana", &format!("enter {}", path.display()), &[OWN]);
    let shown = files.done("ben", "show 1 --why approval", &[OWN]).out;
    let hash = shown.trim().rsplit(' ').next().unwrap().to_owned();
    files.done("ben", &format!("approve 1 --hash {}", &hash[..16]), &[OWN]);
    files
}

#[test]
fn an_officer_gets_the_product_of_captures_and_the_register_has_its_hashes() {
    let files = in_force();
    let out = files.folder.path().join("product");
    let command = format!("product {DEMO} --out {} --why 'case 17'", out.display());
    files.refused("dora", &command, "only an officer");
    assert!(!out.exists(), "nothing stays of what was refused");
    let run = files.done("ana", &command, &[OWN]);
    let (events, content) = (pdus(&out.join("LI-17.hi2")), pdus(&out.join("LI-17.hi3")));
    assert!(events.iter().filter(|pdu| matches!(pdu.payload, PduPayload::Iri(_))).count() > 5, "{run:?}");
    assert!(content.len() > 100, "{run:?}");
    let acts = files.done("dora", "acts --why audit --format jsonl", &[OWN]).out;
    let hash = run.out.lines().find(|line| line.ends_with("LI-17.hi3")).unwrap().split(' ').next().unwrap();
    assert!(hash.len() == 64 && acts.contains(hash), "{run:?}, {acts}");
    assert!(acts.contains("\"captures\"") && acts.contains("case 17"), "{acts}");
    files.refused("ana", &command, "exists");
    let other = command.replace("/product ", "/other ");
    files.refused(
        "ana",
        &format!("{other} --only LI-18"),
        "no warrant with the identifier `LI-18` is in force",
    );
}

#[test]
fn what_is_delivered_is_what_is_in_the_files() {
    let files = in_force();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let arrived = function(listener, 2);
    let functions = format!(
        "[[function]]\nagency = 'agency-a'\noperator = 'operator'\nhi2 = '{address}'\nhi3 = '{address}'\n"
    );
    let functions = file(files.folder.path(), "functions.toml", functions.as_bytes());
    let out = files.folder.path().join("product");
    let command = format!(
        "product {DEMO} --out {} --why 'case 17' --deliver {} --wait 300s",
        out.display(),
        functions.display()
    );
    let run = files.done("ana", &command, &[OWN]);
    assert!(run.err.contains("have confirmed everything"), "{run:?}");
    let mut arrived: Vec<PduPayload> = arrived.join().unwrap().into_iter().map(|pdu| pdu.payload).collect();
    let in_files =
        |ending: &str| pdus(&out.join(format!("LI-17.{ending}"))).into_iter().map(|pdu| pdu.payload);
    for expected in in_files("hi2").chain(in_files("hi3")) {
        let place = arrived.iter().position(|payload| *payload == expected).expect("a PDU of the files");
        arrived.swap_remove(place);
    }
    assert_eq!(arrived, [], "nothing else");
    assert!(!out.join("buffer").exists(), "what waits there is of no use without its key");
    let text = "[[function]]\nagency = 'agency-b'\noperator = 'operator'\nhi2 = '127.0.0.1:9'\n";
    file(files.folder.path(), "functions.toml", text.as_bytes());
    files.refused("ana", &command.replace("/product ", "/other "), "agency-a");
}
