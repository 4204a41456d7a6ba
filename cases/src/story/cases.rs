//! One function per case, named as its folder. Each says what the right answer is and why, before it is asked for.

mod numbering;
mod outcomes;

use super::Story;

/// Every case.
pub fn all() -> Vec<Story> {
    vec![
        numbering::one_ssrc_five_calls(),
        numbering::hold_and_resume(),
        numbering::numbering_restarts(),
        outcomes::early_media(),
        outcomes::prack_update(),
        outcomes::challenge_answered(),
        outcomes::challenge_unanswered(),
        outcomes::forked(),
        outcomes::fork_one_branch_busy(),
        outcomes::cancelled(),
        outcomes::diverted(),
        outcomes::bye_by_callee(),
        outcomes::failed(),
        outcomes::never_answered(),
        outcomes::answered_and_input_ends(),
        outcomes::retransmissions_and_mirrored_copies(),
        outcomes::call_ids_nearly_equal(),
    ]
}
