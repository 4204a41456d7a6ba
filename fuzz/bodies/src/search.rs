//! Reads arbitrary texts as searches.

use ringtap_model::{Call, Nanos};
use ringtap_search::{Context, complete, parse};
use ringtap_testing::samples;

/// Reads the bytes as a search. What is read prints as a text that is read as the same, and selects no call
/// that its conditions for a filter leave out; what is refused has its place within the text.
pub fn search(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut context = Context::utc(Nanos::from_secs(1_795_276_800));
    context.lists.insert("vip".into(), vec!["*0138".into(), "alice".into()]);
    let length = text.chars().count();
    for column in [0, 1, length / 2, length + 1, usize::MAX] {
        for completion in complete(&text, column) {
            assert!(completion.column >= 1 && completion.column + completion.length <= length + 1);
        }
    }
    let expression = match parse(&text, &context) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(error.column >= 1 && error.length >= 1 && error.column <= length + 1, "{error}");
            return;
        }
    };
    let printed = expression.to_string();
    assert_eq!(parse(&printed, &context).as_ref(), Ok(&expression), "{printed}");
    assert!(!expression.in_words(&context).is_empty());
    let stream = samples::stream();
    let call = Call { streams: vec![stream.id], ..samples::call() };
    let streams = [stream];
    for call in [call, samples::hostile_call()] {
        let matches = expression.matches(&call, if call.streams.is_empty() { &[] } else { &streams });
        assert!(expression.matches_call(&call).is_none_or(|known| known == matches));
        assert!(!matches || expression.prefilter().selects_call(&call, &streams));
        assert!(!matches || call.start().is_some_and(|start| expression.time_span().contains(start)));
    }
}
