//! What the network element answers and does, message by message, without sockets.

mod place;
mod properties;

use ringtap_warrant::{ActQuery, Delivers};

use crate::place::*;

#[test]
fn a_task_lives_from_its_activation_to_its_deactivation() {
    let mut place = Place::new().with_destination();
    assert_eq!(place.ask("ActivateTask", &task()), "<oK>Acknowledged</oK>", "a draft is not completed");
    assert!(place.register.active(at(2)).unwrap().is_empty());
    assert_eq!(place.status(), "awaitingProvisioning");
    place.clock = 2;
    place.approve(1);
    let none = place.ask("GetTaskDetails", &format!("<xId>{XID}</xId>"));
    assert!(none.contains("<listOfFaults></listOfFaults><timeOfLast"), "what others were given: {none}");
    place.register.begun(&"LI-1".parse().unwrap(), at(2)).unwrap();
    let details = place.ask("GetTaskDetails", &format!("<xId>{XID}</xId>"));
    let expected = format!(
        "<taskResponseDetails><taskDetails><xId>{XID}</xId><targetIdentifiers><targetIdentifier>{NUMBER}\
         </targetIdentifier></targetIdentifiers><deliveryType>X2andX3</deliveryType><listOfDIDs>\
         <dId>{DID}</dId></listOfDIDs><listOfMediationDetails><mediationDetails><LIID>LI-1</LIID>\
         <deliveryType>HI2andHI3</deliveryType><StartTime>2027-01-15T08:00:01.000000Z</StartTime>{END}\
         </mediationDetails></listOfMediationDetails></taskDetails><taskStatus>\
         <provisioningStatus>complete</provisioningStatus><listOfFaults><unresolvedFault>\
         <errorCode>9020</errorCode><errorDescription>5 PDUs could not be written</errorDescription>\
         </unresolvedFault></listOfFaults><amountOfX3Data>5</amountOfX3Data>\
         <timeOfLastModification>2027-01-15T08:00:01.000000Z</timeOfLastModification></taskStatus>\
         </taskResponseDetails>"
    );
    assert_eq!(details, expected);
    let orders = place.register.active(at(3)).unwrap();
    let targets: Vec<String> = orders[0].targets.iter().map(|target| target.text().to_string()).collect();
    assert_eq!(targets, ["msisdn:441601234567", "number:441601234567"]);
    assert_eq!((orders[0].delivers, &*orders[0].agency), (Delivers::Both, "agency-a"));
    assert_eq!(place.code("ActivateTask", &task()), 2010);
    place.ok("DeactivateTask", &format!("<xId>{XID}</xId>"));
    assert!(place.register.active(at(3)).unwrap().is_empty());
    for kind in ["GetTaskDetails", "DeactivateTask"] {
        assert_eq!(place.code(kind, &format!("<xId>{XID}</xId>")), 2020);
    }
    assert_eq!(place.code("ModifyTask", &task()), 2020);
    // Everything that changed or looked is an act of the ADMF, by its transaction.
    let acts = place.register.acts(&place.ana, &ActQuery::default(), "audit", at(4)).unwrap();
    let own: Vec<&str> = acts.iter().filter(|act| &*act.who == "admf:admf-1").map(|act| act.act).collect();
    assert_eq!(own, ["destination", "task-activate", "look", "look", "look", "task-deactivate"]);
    let look = acts.iter().rfind(|act| act.act == "look" && &*act.who == "admf:admf-1").unwrap();
    assert!(look.detail.starts_with("show: X1 GetTaskDetails, transaction 00000000-"), "{}", &*look.detail);
    assert!(!acts.iter().any(|act| act.detail.contains("1601234567")));
}

#[test]
fn an_admf_that_activates_is_answered_that_it_is_completed() {
    let mut place = Place::new();
    let mut ask = |kind: &str, inner: &str| place.ask_as("admf-2", TWO, kind, inner);
    ask("CreateDestination", &destination(DID, "X2andX3", "192.0.2.1", 9992));
    assert_eq!(ask("ActivateTask", &task()), "<oK>AcknowledgedAndCompleted</oK>");
    let more = Details {
        targets: "<targetIdentifier><imsi>234150999999999</imsi></targetIdentifier>".into(),
        ..Details::default()
    };
    assert_eq!(ask("ModifyTask", &more.xml()), "<oK>AcknowledgedAndCompleted</oK>");
    assert_eq!(place.register.active(at(2)).unwrap()[0].targets[0].text().as_str(), "imsi:234150999999999");
    // An officer ends it.
    let ana = place.ana.clone();
    place.register.withdraw(&ana, 2, "lifted", at(2)).unwrap();
    place.clock = 3;
    let details = place.ask_as("admf-2", TWO, "GetTaskDetails", &format!("<xId>{XID}</xId>"));
    assert!(details.contains("<provisioningStatus>failed</provisioningStatus>"), "{details}");
    assert!(details.contains("<errorCode>9030</errorCode>"), "{details}");
}

#[test]
fn what_is_modified_waits_or_counts_at_once() {
    let mut place = Place::new().with_destination();
    place.ask("ActivateTask", &task());
    place.approve(1);
    assert_eq!(place.status(), "complete");
    let later = "<EndTime>2027-03-15T08:00:00.000000Z</EndTime>";
    let longer = Details { mediation: mediation("LI-1", "HI2andHI3", later), ..Details::default() };
    assert_eq!(place.ask("ModifyTask", &longer.xml()), "<oK>Acknowledged</oK>");
    assert_eq!(place.status(), "awaitingProvisioning");
    place.approve(1);
    assert_eq!(place.status(), "complete");
    let events =
        Details { delivery: "X2Only", mediation: mediation("LI-1", "HI2Only", later), ..Details::default() };
    assert_eq!(place.ask("ModifyTask", &events.xml()), "<oK>AcknowledgedAndCompleted</oK>");
    assert_eq!(place.register.active(at(2)).unwrap()[0].delivers, Delivers::Iri);
    assert_eq!(place.ask("ModifyTask", &longer.xml()), "<oK>Acknowledged</oK>", "content again");
    let details = place.ask("GetTaskDetails", &format!("<xId>{XID}</xId>"));
    assert!(details.contains("<deliveryType>X2Only</deliveryType>"), "what counts is shown: {details}");
    assert!(details.contains("a modification waits"), "{details}");
    place.ok("DeactivateAllTasks", "");
    assert_eq!(place.code("GetTaskDetails", &format!("<xId>{XID}</xId>")), 2020);
}

#[test]
fn destinations_are_mediation_functions_of_the_operator() {
    let mut place = Place::new();
    let second = "c20dfd2c-9ad0-4a11-8a8f-7b8b8e4b3d11";
    place.ok("CreateDestination", &destination(DID, "X2Only", "192.0.2.2", 9992));
    assert_eq!(place.code("CreateDestination", &destination(DID, "X2Only", "192.0.2.2", 9992)), 2030);
    for elsewhere in [
        destination(second, "X2Only", "192.0.2.3", 9992),
        destination(second, "X2Only", "192.0.2.2", 9993),
        destination(second, "X3Only", "192.0.2.2", 9992),
        destination(second, "X2andX3", "192.0.2.2", 9992),
    ] {
        assert_eq!(place.code("CreateDestination", &elsewhere), 6000);
    }
    let six = "2001:0db8:0000:0000:0000:0000:0000:0002";
    place.ok("CreateDestination", &destination(second, "X3Only", six, 9993));
    let got = place.ask("GetDestinationDetails", &format!("<dId>{second}</dId>"));
    let expected = format!(
        "<destinationResponseDetails>{}<destinationStatus>\
         <destinationDeliveryStatus>activeAndWorking</destinationDeliveryStatus><listOfFaults></listOfFaults>\
         </destinationStatus></destinationResponseDetails>",
        destination(second, "X3Only", six, 9993)
    );
    assert_eq!(got, expected);
    let got = place.ask("GetDestinationDetails", &format!("<dId>{DID}</dId>"));
    assert!(got.contains("<destinationDeliveryStatus>deliveryFault<"), "{got}");
    let all = place.ask("GetAllDestinationDetails", "");
    assert_eq!(all.matches("<destinationResponseDetails>").count(), 2);
    // In use, where product goes cannot be changed, and it cannot be removed.
    let events =
        Details { delivery: "X2Only", mediation: mediation("LI-1", "HI2Only", END), ..Details::default() };
    place.ask("ActivateTask", &events.xml());
    assert_eq!(place.code("ModifyDestination", &destination(DID, "X2andX3", "192.0.2.1", 9992)), 6001);
    place.ok("ModifyDestination", &destination(DID, "X2Only", "192.0.2.2", 9992));
    assert_eq!(place.code("RemoveDestination", &format!("<dId>{DID}</dId>")), 7010);
    assert_eq!(place.code("RemoveAllDestinations", ""), 8010);
    place.ok("RemoveDestination", &format!("<dId>{second}</dId>"));
    assert_eq!(place.code("RemoveDestination", &format!("<dId>{second}</dId>")), 2040);
    assert_eq!(place.code("GetDestinationDetails", &format!("<dId>{second}</dId>")), 2040);
    assert_eq!(place.code("ModifyDestination", &destination(second, "X2Only", "192.0.2.2", 9992)), 2040);
    place.ok("DeactivateAllTasks", "");
    place.ok("RemoveAllDestinations", "");
    let list = place.ask("ListAllDetails", "");
    assert_eq!(list, "<ListOfXIDs></ListOfXIDs><ListOfDIDs></ListOfDIDs>");
    let elsewhere = |address: &str| {
        format!(
            "<destinationDetails><dId>{DID}</dId><deliveryType>X2Only</deliveryType><deliveryAddress>\
             {address}</deliveryAddress></destinationDetails>"
        )
    };
    assert_eq!(place.code("CreateDestination", &elsewhere("<uri>https://192.0.2.1/</uri>")), 6020);
    let udp = "<ipAddressAndPort><c:address><c:IPv4Address>192.0.2.1</c:IPv4Address></c:address><c:port>\
               <c:UDPPort>9992</c:UDPPort></c:port></ipAddressAndPort>";
    assert_eq!(place.code("CreateDestination", &elsewhere(udp)), 6020);
}

#[test]
fn the_rest_is_answered() {
    let mut place = Place::new().with_destination();
    place.ok("Ping", "");
    place.ok("Keepalive", "");
    let status = place.ask("GetNEStatus", "");
    assert!(
        status.starts_with("<neStatusDetails><neStatus>Faults</neStatus><listOfFaults><unresolvedFault>")
    );
    assert_eq!(place.ask("GetAllGenericObjectDetails", ""), "");
    place.ask("ActivateTask", &task());
    let second = "29f28e1c-f230-486a-a860-f5a784ab9173";
    let other = Details { xid: second, mediation: mediation("LI-2", "HI2andHI3", END), ..Details::default() };
    place.ask("ActivateTask", &other.xml());
    let list = place.ask("ListAllDetails", "");
    let expected = format!(
        "<ListOfXIDs><xId>{XID}</xId><xId>{second}</xId></ListOfXIDs><ListOfDIDs><dId>{DID}</dId>\
         </ListOfDIDs>"
    );
    assert_eq!(list, expected);
    let tasks = place.ask("GetAllTaskDetails", "");
    assert_eq!(tasks.matches("<taskResponseDetails>").count(), 2);
    let all = place.ask("GetAllDetails", "");
    let order = ["<neStatusDetails>", "<listOfTaskResponseDetails>", "<listOfDestinationResponseDetails>"];
    let places: Vec<usize> = order.iter().map(|name| all.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{all}");
    for unsupported in ["CreateObject", "DeleteAllObjects", "ReportTaskIssue"] {
        assert_eq!(place.code(unsupported, ""), 1080, "{unsupported}");
    }
}

#[test]
fn a_task_that_cannot_be_honoured_as_it_stands_is_refused() {
    let mut place = Place::new().with_destination();
    let none = "c20dfd2c-9ad0-4a11-8a8f-7b8b8e4b3d99";
    let events = "c20dfd2c-9ad0-4a11-8a8f-7b8b8e4b3d12";
    place.ok("CreateDestination", &destination(events, "X2Only", "192.0.2.2", 9992));
    let with = |change: &dyn Fn(&mut Details)| {
        let mut details = Details::default();
        change(&mut details);
        details.xml()
    };
    let target = |inner: &str| format!("<targetIdentifier>{inner}</targetIdentifier>");
    let long = format!("<StartTime>2027-02-16T08:00:00.000000Z</StartTime>{END}");
    let cases: [(u16, String); 24] = [
        (3010, with(&|task| task.targets = target("<tcpPort>5060</tcpPort>"))),
        (1010, with(&|task| task.targets = target("<imsi>1</imsi>"))),
        (1010, with(&|task| task.targets = String::new())),
        (3020, with(&|task| task.targets = target(NUMBER) + &target("<imsi>234150999999999</imsi>"))),
        (1010, with(&|task| task.delivery = "X4")),
        (3040, with(&|task| task.dids.clear())),
        (2040, with(&|task| task.dids = vec![none])),
        (1010, with(&|task| task.dids = vec![DID, DID])),
        (3030, with(&|task| task.dids = vec![DID, events])),
        (3040, with(&|task| task.dids = vec![events])),
        (3000, with(&|task| task.mediation.clear())),
        (3000, with(&|task| task.mediation = "<listOfMediationDetails></listOfMediationDetails>".into())),
        (3000, with(&|task| task.mediation = mediation("LI-1", "HI2andHI3", ""))),
        (3000, with(&|task| task.mediation = mediation("LI-1", "HI2andHI3", &long))),
        (
            1010,
            with(&|task| task.mediation = mediation("LI-1", "HI2andHI3", "<EndTime>2027-02-15</EndTime>")),
        ),
        (3040, with(&|task| task.mediation = mediation("LI-1", "HI2Only", END))),
        (1010, with(&|task| task.mediation = mediation("", "HI2andHI3", END))),
        (1010, with(&|task| task.mediation = mediation("L I", "HI2andHI3", END))),
        (1010, with(&|task| task.mediation = mediation(&"z".repeat(26), "HI2andHI3", END))),
        (
            1010,
            with(&|task| task.more = "<implicitDeactivationAllowed>yes</implicitDeactivationAllowed>".into()),
        ),
        (3000, with(&|task| task.more = format!("<productID>{XID}</productID>"))),
        (
            3050,
            with(&|task| {
                task.more = "<listOfServiceTypes><serviceType>voice</serviceType></listOfServiceTypes>".into()
            }),
        ),
        (
            3000,
            with(&|task| {
                task.more = "<taskDetailsExtensions><Owner>x</Owner></taskDetailsExtensions>".into()
            }),
        ),
        (1010, with(&|task| task.more = "<unheardOf></unheardOf>".into())),
    ];
    for (expected, details) in cases {
        assert_eq!(place.code("ActivateTask", &details), expected, "{details}");
    }
    assert_eq!(place.code("GetTaskDetails", &format!("<xId>{}</xId>", XID.to_uppercase())), 1010);
    assert_eq!(place.code("GetTaskDetails", ""), 1010);
    assert_eq!(place.code("Ping", "<xId></xId>"), 1010);
    assert_eq!(place.ask("ListAllDetails", "").matches("<xId>").count(), 0, "nothing was entered");
    // Some are accepted as they are, and shown again.
    let more =
        "<correlationID>7</correlationID><implicitDeactivationAllowed>true</implicitDeactivationAllowed>";
    let same = target(NUMBER) + &target("<telUri>tel:+44-1601234567</telUri>");
    let details = with(&|task| (task.more, task.targets) = (more.into(), same.clone()));
    assert_eq!(place.ask("ActivateTask", &details), "<oK>Acknowledged</oK>");
    let shown = place.ask("GetTaskDetails", &format!("<xId>{XID}</xId>"));
    assert!(shown.contains(more) && shown.contains(&same), "{shown}");
    let hex = with(&|task| {
        (task.xid, task.mediation) = (none, mediation("00ff00ff00ff00ff00ff00ff00ff", "HI2andHI3", END));
    });
    assert_eq!(place.ask("ActivateTask", &hex), "<oK>Acknowledged</oK>");
    let shown = place.ask("GetTaskDetails", &format!("<xId>{none}</xId>"));
    assert!(shown.contains("<LIID>00ff00ff00ff00ff00ff00ff00ff</LIID>"), "{shown}");
    assert_eq!(place.code("ActivateTask", &with(&|task| task.xid = events)), 3000, "the LIID is in use");
}

#[test]
fn nobody_speaks_for_another_admf_or_to_another_element() {
    let mut place = Place::new().with_destination();
    place.ask("ActivateTask", &task());
    let get = format!("<xId>{XID}</xId>");
    let nobody = "3f".repeat(32);
    for (admf, certificate) in [("admf-1", TWO), ("admf-2", ONE), ("admf-1", &*nobody), ("admf-3", &*nobody)]
    {
        for (kind, inner) in
            [("GetTaskDetails", &*get), ("DeactivateAllTasks", ""), ("Ping", ""), ("Nonsense", "")]
        {
            let transaction = "00000000-0000-4000-8000-000000009999";
            let message = message(admf, "tap-1", "v1.13.1", transaction, kind, inner);
            assert_eq!(code(&place.raw(certificate, &request(&message))), 1030, "{admf}, {kind}");
        }
    }
    // Its own certificate opens nothing of another one's.
    assert_eq!(code(&place.ask_as("admf-2", TWO, "GetTaskDetails", &get)), 2020);
    assert_eq!(
        place.ask_as("admf-2", TWO, "GetAllTaskDetails", ""),
        "<listOfTaskResponseDetails></listOfTaskResponseDetails>"
    );
    place.ask_as("admf-2", TWO, "DeactivateAllTasks", "");
    assert_eq!(place.status(), "awaitingProvisioning");
    let refused = ActQuery { who: Some("service".to_owned()), ..ActQuery::default() };
    let acts = place.register.acts(&place.ana, &refused, "audit", at(4)).unwrap();
    let told: Vec<&str> = acts.iter().filter(|act| act.act == "refused").map(|act| &*act.detail).collect();
    assert_eq!(told, ["another certificate than that of ADMF admf-1"], "one a minute");
    for (ne, version, expected) in
        [("tap-2", "v1.13.1", 1060), ("tap-1", "v2.1.1", 1020), ("tap-1", "1.13", 1020)]
    {
        let transaction = "00000000-0000-4000-8000-000000009999";
        let message = message("admf-1", ne, version, transaction, "Ping", "");
        assert_eq!(code(&place.raw(ONE, &request(&message))), expected, "{ne} {version}");
    }
}

#[test]
fn messages_of_one_request_are_answered_in_order_and_a_transaction_counts_once() {
    let mut place = Place::new().with_destination();
    let numbered = |number: u32, kind: &str, inner: &str| {
        message("admf-1", "tap-1", "v1.9.1", &format!("00000000-0000-4000-9000-{number:012x}"), kind, inner)
    };
    let messages = numbered(1, "Ping", "")
        + &numbered(2, "ActivateTask", &task())
        + &numbered(3, "ActivateTask", &task())
        + &numbered(2, "DeactivateAllTasks", "")
        + &numbered(4, "GetTaskDetails", &format!("<xId>{XID}</xId>"));
    let answer = place.raw(ONE, &request(&messages));
    let kinds: Vec<&str> =
        answer.split("xsi:type=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let expected =
        ["PingResponse", "ActivateTaskResponse", "ErrorResponse", "ErrorResponse", "GetTaskDetailsResponse"];
    assert_eq!(kinds, expected);
    let codes: Vec<&str> =
        answer.split("<errorCode>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(codes, ["2010", "5000", "9010"], "{answer}");
    // The same request again changes nothing.
    let again = place.raw(ONE, &request(&numbered(2, "ActivateTask", &task())));
    assert_eq!(code(&again), 3000, "{again}");
}

#[test]
fn an_admf_does_not_fill_the_register() {
    let mut place = Place::new();
    let get = format!("<xId>{XID}</xId>");
    let message = message("admf-1", "tap-1", "v1.13.1", DID, "GetTaskDetails", &get);
    let codes = |answer: &str, code: &str| answer.matches(&format!("<errorCode>{code}<")).count();
    let mut done = 0;
    for _ in 0..17 {
        let answer = place.raw(ONE, &request(&message.repeat(64)));
        assert_eq!(codes(&answer, "2020") + codes(&answer, "1000"), 64);
        done += codes(&answer, "2020");
    }
    assert_eq!(done, 1_000);
    place.ok("Ping", "");
    assert_eq!(code(&place.ask_as("admf-2", TWO, "GetTaskDetails", &get)), 2020, "others are not kept out");
    place.clock += 1;
    assert_eq!(codes(&place.raw(ONE, &request(&message.repeat(64))), "2020"), 5);
}

#[test]
fn what_is_no_request_is_answered_at_the_top() {
    let mut place = Place::new();
    let id = "00000000-0000-4000-8000-000000000001";
    let ping = message("admf-1", "tap-1", "v1.13.1", id, "Ping", "");
    let many = ping.repeat(65);
    let deep = "<x1:a>".repeat(50_000) + &"</x1:a>".repeat(50_000);
    let doctype = request(&ping).replace("?><", "?><!DOCTYPE x [<!ENTITY a \"b\">]><");
    for wrong in [
        String::new(),
        "no XML".to_owned(),
        request(""),
        request(&many),
        request(&deep),
        request(&ping.replace(id, "1")),
        request(&ping.replace("2027-01-15T08:00:00.000000Z", "now")),
        request(&ping.replace("<x1:neIdentifier>tap-1</x1:neIdentifier>", "")),
        request(&ping).replace("2017/10", "2018/10"),
        request(&ping).replace("X1Request", "X1Response"),
        request(&ping).replace("tap-1", "&a;"),
        doctype,
        " ".repeat(300 << 10),
    ] {
        let answer = place.raw(ONE, &wrong);
        assert!(
            answer.contains("<X1TopLevelErrorResponse ") && !answer.contains("x1ResponseMessage"),
            "{answer}"
        );
        assert!(answer.contains("<admfIdentifier>admf-1</admfIdentifier><neIdentifier>tap-1</neIdentifier>"));
    }
    let answer = place.raw(&"3f".repeat(32), "");
    assert!(answer.contains("<admfIdentifier>unknown</admfIdentifier>"), "{answer}");
    // What the standard does not have is answered as such.
    let answer = place.raw(ONE, &request(&ping.replace("PingRequest", "PongRequest")));
    assert!(
        answer.contains("<requestMessageType>ExtendedRequestMessageType</requestMessageType>"),
        "{answer}"
    );
    assert_eq!(code(&answer), 1080);
}
