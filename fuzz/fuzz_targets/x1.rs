#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ringtap_fuzz_bodies::x1(bytes));
