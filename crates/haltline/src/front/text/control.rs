//! Text of `haltline pause` and `haltline unpause`.

use super::Page;
use crate::view::control::PauseView;

/// `haltline pause`, `haltline unpause`.
pub fn pause(view: &PauseView) -> String {
    let mut page = Page::new(0);
    for paused in &view.paused {
        page.wrapped("", format!("{}.", paused.sentence()));
    }
    match (view.is_paused, &view.audit) {
        (true, _) => {
            page.line("haltline lets every call pass and counts nothing. Open circuits stay open.");
            page.line("\nEnd it earlier:  haltline unpause");
        }
        (false, Some(_)) => page.line("haltline watches again."),
        (false, None) => page.line("Nothing is paused."),
    }
    page.finish()
}
