//! One function per case, with the name of its folder. The comment of each states the expected records and
//! the reason.

mod complaints;
mod corners;
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
    let groups = [
        numbering::all(),
        outcomes::all(),
        media::all(),
        offers::all(),
        networks::all(),
        tcp::all(),
        requests::all(),
        noise::all(),
        dialogs::all(),
        corners::all(),
        complaints::all(),
    ];
    groups.into_iter().flatten().collect()
}
