//! One function per case, named as its folder. Each says what the right answer is and why, before it is asked for.

mod dialogs;
mod media;
mod networks;
mod noise;
mod numbering;
mod offers;
mod outcomes;
mod requests;
mod tcp;

use super::Story;

/// Every case.
pub fn all() -> Vec<Story> {
    vec![
        numbering::one_ssrc_five_calls(),
        numbering::hold_and_resume(),
        numbering::numbering_restarts(),
        numbering::t38_by_reinvite(),
        numbering::sequence_wraps_twice(),
        numbering::silence_suppression(),
        numbering::burst_loss(),
        numbering::reordering(),
        numbering::jitter_by_hand(),
        numbering::leap_of_a_day(),
        numbering::dtmf_end_packets(),
        numbering::dtmf_events_alone(),
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
        media::mirrored_media(),
        media::volte_three_copies(),
        media::relay_two_legs(),
        media::proxy_several_hops(),
        media::source_port_changes(),
        media::media_on_ports_no_sdp_names(),
        media::media_without_signalling(),
        media::shared_media_port(),
        media::codec_by_reinvite(),
        media::ceiling_of_calls(),
        media::ceiling_of_streams(),
        media::intervals(),
        media::header_parts(),
        offers::in_multipart(),
        offers::ice_candidates(),
        offers::audio_and_video(),
        offers::short_headers(),
        offers::redirect_followed(),
        offers::early_media_of_two_forks(),
        networks::tags_and_tunnels(),
        networks::ipv6_call(),
        networks::fragments_v4(),
        networks::fragments_v6(),
        networks::second_fragment_without_first(),
        networks::icmp_quotes(),
        networks::wire_length_smaller(),
        networks::snap_length(),
        networks::hep_mirrored(),
        tcp::cut_everywhere(),
        tcp::out_of_order_and_overlap(),
        tcp::two_messages_in_one_segment(),
        tcp::hole(),
        tcp::websocket(),
        tcp::over_sctp(),
        requests::register_states(),
        requests::register_unanswered(),
        requests::message_records(),
        requests::no_records(),
        noise::junk_on_5060(),
        noise::looks_like_rtp(),
        noise::begins_inside_a_dialog(),
        noise::two_requests_in_one_datagram(),
        noise::big_status_codes(),
        noise::line_ends(),
        noise::escaped_nulls(),
        noise::utf8_and_latin1(),
        dialogs::parties(),
        dialogs::digits_by_info(),
        dialogs::reinvite_refused(),
        dialogs::cancel_crosses_answer(),
        dialogs::both_hang_up(),
    ]
}
