//! What is delivered of a call.

use ringtap_anonymise::Tokens;
use ringtap_model::{Call, Stream};
use serde_json::{Value, json};

use crate::settings::Hook;

/// What is delivered of a call, as JSON; `tokens` where numbers are hidden. `sound` is filled in by whoever
/// has the file.
pub(crate) fn document(
    hook: &Hook,
    call: &Call,
    streams: &[Stream],
    host: &str,
    attempt: u32,
    tokens: Option<&Tokens>,
) -> Value {
    let mut document = json!({
        "delivery": format!("{}/{}", hook.name, call.id),
        "hook": hook.name,
        "event": hook.event.name(),
        "host": host,
        "attempt": attempt,
        "call": call,
        "streams": streams,
        "sound": null,
        "sound_missing": null,
    });
    if let Some(tokens) = tokens {
        tokens.json(&mut document);
        // What the installation calls itself is nobody's number.
        document["delivery"] = format!("{}/{}", hook.name, call.id).into();
        document["hook"] = hook.name.clone().into();
        document["host"] = host.into();
    }
    document
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::service::tests::hook;

    #[test]
    fn a_document_has_the_records_as_they_are_or_without_numbers() {
        let (call, streams) = (samples::call(), [samples::stream()]);
        let plain = document(&hook("archive"), &call, &streams, "tap-1", 2, None);
        assert_eq!(plain["call"], serde_json::to_value(&call).unwrap());
        assert_eq!(plain["streams"][0], serde_json::to_value(&streams[0]).unwrap());
        assert_eq!((&plain["event"], &plain["attempt"]), (&"recorded".into(), &2.into()));
        let number = call.from_user.clone().unwrap();
        assert!(plain.to_string().contains(&number));

        let tokens = Tokens::new([7; 32]);
        let masked = document(&hook("archive"), &call, &streams, "tap-1", 1, Some(&tokens));
        assert!(!masked.to_string().contains(&number), "{masked}");
        assert_eq!(masked["call"]["from_user"], tokens.token(&number).as_str());
        assert_eq!(masked["delivery"], plain["delivery"]);
    }
}
