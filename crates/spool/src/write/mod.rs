pub(crate) mod disk;
pub(crate) mod packer;
pub(crate) mod ring;
pub(crate) mod sealer;
pub(crate) mod settings;
#[expect(unsafe_code, reason = "one thread writes where another will read")]
pub(crate) mod sys;
pub(crate) mod writer;
