//! Calls in pcap files.

use ringtap_live::calls::DialogEntry;

use super::*;

#[test]
fn what_is_saved_is_what_passed() {
    let folder = tempfile::tempdir().unwrap();
    for (index, name) in
        ["demo/calls.pcap", "cases/tcp-cut-everywhere/in.pcap", "cases/ip-fragments-v6/in.pcap"]
            .iter()
            .enumerate()
    {
        let (view, _) = after(capture(name), None, LIMITS);
        let path = folder.path().join(format!("{index}.pcap"));
        let told = save::write(&view.entries, &[], &path).unwrap();
        let original: Vec<String> = seen(capture(name));
        let mut saved = seen(Capture::open(&path, None).unwrap());
        let mut original = original;
        saved.sort();
        original.sort();
        assert_eq!(saved, original, "{name}: {told}");
        assert!(!original.is_empty());
        let again = save::write(&view.entries, &[], &path).unwrap_err().to_string();
        assert!(again.contains("is there already"), "{again}");
    }
    assert!(save::write(&[], &[], &folder.path().join("none")).is_err());
    assert!(!folder.path().join("none").exists());
}

#[test]
fn media_are_saved_with_their_calls_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("call.pcap");
    let (view, calls) = after(capture("demo/calls.pcap"), None, LIMITS);
    let entry = view.entries.iter().find(|entry| entry.streams.len() == 4).unwrap();
    let media = calls.media(&[entry.serial]);
    let packets: u64 = entry.streams.iter().map(|stream| stream.packets).sum();
    assert_eq!(media.len() as u64, packets);
    let told = save::write(std::slice::from_ref(entry), &media, &path).unwrap();
    assert!(told.contains(&format!("{packets} of them media")), "{told}");
    let (again, _) = after(Capture::open(&path, None).unwrap(), None, LIMITS);
    assert_eq!(again.entries.len(), 1);
    let figures = |entry: &DialogEntry| {
        entry.streams.iter().map(|stream| (stream.ssrc, stream.packets, stream.lost)).collect::<Vec<_>>()
    };
    assert_eq!(figures(&again.entries[0]), figures(entry), "the saved call is the same call");

    let few = Limits { media_bytes: 100_000, ..LIMITS };
    let (view, mut calls) = after(capture("demo/calls.pcap"), None, few);
    let (kept, gone) = view.totals.media;
    assert!((100..1_000).contains(&kept) && gone > 6_000, "{kept} {gone}");
    calls.clear();
    assert!(calls.media(&[entry.serial]).is_empty() && calls.totals.media.0 == 0);
    let none = after(capture("demo/calls.pcap"), None, Limits { media_bytes: 0, ..LIMITS }).0;
    assert_eq!(none.totals.media, (0, 0));
}

#[test]
fn saving_takes_the_selected_or_all() {
    let mut app = demo(None);
    let saved = |app: &mut App, keys: &[KeyCode]| {
        press(app, keys);
        match app.key(KeyEvent::from(KeyCode::Enter)) {
            Effect::Save(path, calls, _) => (path.display().to_string(), calls.len()),
            other => panic!("{other:?}"),
        }
    };
    let (path, count) = saved(&mut app, &[KeyCode::F(2)]);
    assert_eq!(count, app.rows.len());
    assert!(path.starts_with("ringtap-17672") && path.ends_with(".pcap"), "{path}");
    assert_eq!(saved(&mut app, &[KeyCode::Char('s'), KeyCode::Tab]).1, 1, "the one under the cursor");
    press(&mut app, &[KeyCode::Char(' '), KeyCode::Char(' ')]);
    assert_eq!(saved(&mut app, &[KeyCode::F(2)]).1, 2);
    press(&mut app, &[KeyCode::F(2)]);
    let _ = app.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    write(&mut app, "x.pcap");
    press(&mut app, &[KeyCode::Down, KeyCode::Up]);
    let Effect::Save(path, _, false) = app.key(KeyEvent::from(KeyCode::Enter)) else { panic!("not saved") };
    assert_eq!(path.to_str(), Some("x.pcap"));
}
