//! The secrets that are recognised by their own form: how each begins, and what follows.

use super::character::{ALPHANUMERIC, BASE64, DIGIT, HEX, LOWER, UPPER, WORD};

/// A kind of token: a fixed beginning, then characters of one set.
#[derive(Clone, Copy)]
pub(super) struct TokenKind {
    pub start: &'static str,
    /// Which characters follow, as bits of [`super::character::class`].
    pub set: u16,
    /// The fewest characters that follow.
    pub min: usize,
    /// The most characters that follow; a longer run is something else.
    pub max: usize,
    /// True if other words begin the same way, so that the rest must look random.
    pub is_common_start: bool,
}

const fn kind(start: &'static str, set: u16, min: usize) -> TokenKind {
    TokenKind { start, set, min, max: usize::MAX, is_common_start: false }
}

/// A kind whose beginning also begins ordinary words.
const fn common(start: &'static str, set: u16, min: usize) -> TokenKind {
    TokenKind { start, set, min, max: usize::MAX, is_common_start: true }
}

/// A kind of one length, whose beginning also begins ordinary words.
const fn exact(start: &'static str, set: u16, length: usize) -> TokenKind {
    TokenKind { start, set, min: length, max: length, is_common_start: true }
}

/// A kind of one length.
const fn length(start: &'static str, set: u16, length: usize) -> TokenKind {
    TokenKind { start, set, min: length, max: length, is_common_start: false }
}

const DOTTED: u16 = WORD | super::character::DOT;
const PADDED: u16 = WORD | super::character::EQUALS;
const PADDED_DOTTED: u16 = PADDED | super::character::DOT;

/// Sorted by the first byte, which [`kinds_from`] relies on.
pub(super) const TOKEN_KINDS: &[TokenKind] = &[
    // Password hashes as `crypt` and its relatives write them.
    kind("$2a$", BASE64 | DOTTED | super::character::DOLLAR, 50),
    kind("$2b$", BASE64 | DOTTED | super::character::DOLLAR, 50),
    kind("$2y$", BASE64 | DOTTED | super::character::DOLLAR, 50),
    kind("$5$", BASE64 | DOTTED | super::character::DOLLAR, 40),
    kind("$6$", BASE64 | DOTTED | super::character::DOLLAR, 60),
    kind("$apr1$", BASE64 | DOTTED | super::character::DOLLAR, 20),
    kind("$argon2", BASE64 | DOTTED | super::character::DOLLAR | super::character::COMMA, 40),
    kind("$y$", BASE64 | DOTTED | super::character::DOLLAR, 40),
    kind("1//0", WORD, 30),
    length("4b1d", ALPHANUMERIC, 38),
    kind("A3-", UPPER | DIGIT | super::character::DASH, 30),
    length("A3T", UPPER | DIGIT, 17),
    kind("AAAAAAAAAAAAAAAAAAAAAA", ALPHANUMERIC | super::character::PERCENT, 60),
    length("ABIA", UPPER | DIGIT, 16),
    kind("ABSK", BASE64, 100),
    length("ACCA", UPPER | DIGIT, 16),
    kind("AGE-SECRET-KEY-1", UPPER | DIGIT, 40),
    kind("AIza", WORD, 30),
    kind("AKCp", ALPHANUMERIC, 50),
    kind("AKIA", UPPER | DIGIT, 16),
    length("AKID", ALPHANUMERIC, 32),
    kind("AKLT", ALPHANUMERIC, 30),
    length("API-", UPPER | DIGIT, 26),
    kind("APP_USR-", WORD, 30),
    kind("AQVN", WORD, 33),
    kind("ASIA", UPPER | DIGIT, 16),
    length("ATBB", ALPHANUMERIC, 32),
    kind("ATATT", PADDED, 30),
    kind("ATCTT", PADDED, 30),
    length("AC", HEX, 32),
    kind("BBDC-", BASE64, 30),
    kind("CCIPAT_", WORD, 30),
    kind("CCIPRJ_", WORD, 30),
    kind("CFPAT-", WORD, 30),
    kind("CLOJARS_", ALPHANUMERIC, 40),
    kind("EAA", ALPHANUMERIC, 80),
    kind("EAAA", WORD, 40),
    kind("EZAK", ALPHANUMERIC, 40),
    kind("EZTK", ALPHANUMERIC, 40),
    kind("FLWPUBK_TEST-", WORD, 12),
    kind("FLWPUBK-", WORD, 32),
    kind("FLWSECK_TEST-", WORD, 12),
    kind("FLWSECK-", WORD, 32),
    kind("GOCSPX-", WORD, 20),
    kind("GR1348941", WORD, 20),
    kind("HRKU-", WORD, 30),
    kind("KGAT_", ALPHANUMERIC, 30),
    kind("LTAI", ALPHANUMERIC, 16),
    kind("NRAA-", ALPHANUMERIC, 20),
    kind("NRAK-", ALPHANUMERIC, 20),
    kind("NRII-", WORD, 20),
    kind("NRIQ-", WORD, 20),
    kind("NRJS-", HEX, 15),
    kind("NRRA-", ALPHANUMERIC, 20),
    kind("NRSP-", WORD, 20),
    kind("PMAK-", WORD, 30),
    kind("SG.", DOTTED | super::character::EQUALS, 40),
    length("SK", HEX, 32),
    kind("VF.DM.", DOTTED, 30),
    length("YC", WORD, 38),
    kind("YCAJ", WORD, 20),
    kind("apify_api_", ALPHANUMERIC, 20),
    kind("api_org_", ALPHANUMERIC, 20),
    kind("atoken_", WORD, 20),
    exact("b_", PADDED, 44),
    kind("bedrock-api-key-", BASE64, 20),
    kind("bkct_", WORD, 20),
    kind("bkua_", WORD, 20),
    kind("cal_live_", WORD, 20),
    kind("cfat_", WORD, 30),
    kind("cfut_", WORD, 30),
    length("cio", ALPHANUMERIC, 32),
    kind("cmVmd", ALPHANUMERIC, 50),
    length("dapi", HEX, 32),
    common("dapi", HEX | super::character::DASH, 32),
    kind("dckr_oat_", WORD, 20),
    kind("dckr_pat_", WORD, 20),
    kind("dckr_", WORD, 27),
    kind("dnkey-", PADDED, 40),
    kind("doo_v1_", HEX, 32),
    kind("dop_v1_", HEX, 32),
    kind("dor_v1_", HEX, 32),
    kind("dp.audit.", ALPHANUMERIC, 30),
    kind("dp.ct.", ALPHANUMERIC, 30),
    kind("dp.pt.", ALPHANUMERIC, 30),
    kind("dp.said.", ALPHANUMERIC, 30),
    kind("dp.sa.", ALPHANUMERIC, 30),
    kind("dp.scim.", ALPHANUMERIC, 30),
    kind("dp.st.", DOTTED, 30),
    kind("dt0c01.", DOTTED, 40),
    kind("dt0s01.", DOTTED, 40),
    kind("dt0s16.", DOTTED, 40),
    kind("duffel_live_", PADDED, 30),
    kind("duffel_test_", PADDED, 30),
    kind("e2b_", HEX, 32),
    kind("eyJrIjoi", BASE64, 60),
    length("fc-", HEX, 32),
    kind("figd_", WORD, 30),
    kind("fio-u-", PADDED, 40),
    kind("fm1a_", BASE64, 60),
    kind("fm1r_", BASE64, 60),
    kind("fm2_", BASE64, 60),
    kind("fo1_", WORD, 30),
    exact("fw_", ALPHANUMERIC, 24),
    kind("ghp_", ALPHANUMERIC, 20),
    kind("gho_", ALPHANUMERIC, 20),
    kind("ghu_", ALPHANUMERIC, 20),
    kind("ghs_", WORD | super::character::DOT, 20),
    kind("ghr_", ALPHANUMERIC, 20),
    kind("github_pat_", WORD, 20),
    kind("glagent-", WORD, 20),
    kind("glcbt-", WORD, 18),
    kind("glc_", BASE64, 30),
    kind("gldt-", WORD, 16),
    kind("glffct-", WORD, 16),
    kind("glft-", WORD, 16),
    kind("glimt-", WORD, 16),
    kind("gloas-", WORD, 20),
    kind("glpat-", DOTTED, 16),
    kind("glptt-", WORD, 20),
    kind("glrtr-", WORD, 16),
    kind("glrt-", DOTTED, 16),
    kind("glsa_", WORD, 32),
    kind("glsoat-", WORD, 16),
    kind("glwt-", WORD, 16),
    kind("gsk_", ALPHANUMERIC, 20),
    kind("hf_", ALPHANUMERIC, 20),
    kind("hvb.", DOTTED, 20),
    kind("hvr.", DOTTED, 20),
    kind("hvs.", DOTTED, 20),
    length("ico-", ALPHANUMERIC, 32),
    kind("jina_", WORD, 30),
    length("key-", HEX, 32),
    exact("key", ALPHANUMERIC, 14),
    kind("lin_api_", ALPHANUMERIC, 20),
    kind("lin_oauth_", ALPHANUMERIC, 20),
    common("live_", PADDED, 35),
    kind("live_pub_", HEX, 20),
    kind("lsv2_pt_", WORD, 30),
    kind("lsv2_sk_", WORD, 30),
    kind("mlsn.", HEX, 32),
    kind("nfp_", ALPHANUMERIC, 30),
    kind("npm_", ALPHANUMERIC, 20),
    kind("ntn_", ALPHANUMERIC, 30),
    kind("nvapi-", WORD, 30),
    kind("ops_eyJ", BASE64, 60),
    kind("oy2", LOWER | DIGIT, 43),
    common("p8e-", ALPHANUMERIC, 30),
    length("pa-", WORD, 43),
    common("pat", DOTTED, 50),
    kind("pcsk_", WORD, 30),
    kind("phc_", ALPHANUMERIC, 30),
    kind("phx_", ALPHANUMERIC, 30),
    common("pk_", ALPHANUMERIC, 20),
    kind("pk_live_", ALPHANUMERIC, 10),
    kind("pk_test_", ALPHANUMERIC, 10),
    common("pk.", DOTTED, 60),
    common("pk-", WORD, 30),
    kind("pnu_", ALPHANUMERIC, 30),
    kind("pplx-", ALPHANUMERIC, 30),
    kind("pscale_oauth_", PADDED_DOTTED, 20),
    kind("pscale_pw_", PADDED_DOTTED, 20),
    kind("pscale_tkn_", PADDED_DOTTED, 20),
    kind("pubkey-", HEX, 32),
    length("pul-", HEX, 40),
    kind("pypi-AgE", WORD, 16),
    common("pypi-", WORD, 40),
    length("r8_", ALPHANUMERIC, 37),
    common("r8_", ALPHANUMERIC, 30),
    kind("rdme_", LOWER | DIGIT, 40),
    common("re_", WORD, 28),
    common("rk_", WORD, 20),
    kind("rk_live_", ALPHANUMERIC, 10),
    kind("rk_prod_", ALPHANUMERIC, 10),
    kind("rk_test_", ALPHANUMERIC, 10),
    length("rnd_", ALPHANUMERIC, 28),
    common("rpa_", ALPHANUMERIC, 40),
    kind("rubygems_", HEX, 30),
    exact("s.", ALPHANUMERIC, 24),
    kind("s-s4t2af-", HEX, 40),
    kind("s-s4t2ud-", HEX, 40),
    common("sat.", DOTTED, 60),
    kind("sb_secret_", WORD, 20),
    length("sbp_", HEX, 40),
    kind("secret-token:", PADDED_DOTTED | super::character::PERCENT, 6),
    length("secret_", ALPHANUMERIC, 43),
    kind("sgd_", WORD, 40),
    kind("sgp_", WORD, 40),
    kind("sha256~", WORD, 40),
    kind("shippo_live_", HEX, 30),
    kind("shippo_test_", HEX, 30),
    kind("shpat_", HEX, 20),
    kind("shpca_", HEX, 20),
    kind("shppa_", HEX, 20),
    kind("shprt_", HEX, 20),
    kind("shpss_", HEX, 20),
    kind("shptka_", HEX, 20),
    common("sk-", WORD, 16),
    kind("sk-ant-", WORD, 16),
    kind("sk-proj-", WORD, 16),
    common("sk.", DOTTED, 60),
    common("sk_", WORD, 16),
    kind("sk_live_", ALPHANUMERIC, 10),
    kind("sk_prod_", ALPHANUMERIC, 10),
    kind("sk_test_", ALPHANUMERIC, 10),
    common("sl.", PADDED_DOTTED, 100),
    length("sm_aat_", ALPHANUMERIC, 16),
    length("sm_pat_", ALPHANUMERIC, 16),
    length("sm_sat_", ALPHANUMERIC, 16),
    kind("sntrys_", BASE64 | WORD, 40),
    kind("sntryu_", HEX, 40),
    kind("sq0atp-", WORD, 20),
    kind("sq0csp-", WORD, 30),
    length("sqa_", HEX, 40),
    length("sqp_", HEX, 40),
    length("squ_", HEX, 40),
    common("t1.", PADDED_DOTTED, 60),
    kind("test_pub_", HEX, 20),
    exact("test_", HEX, 35),
    kind("tfp_", PADDED_DOTTED, 40),
    kind("tgp_v1_", WORD, 30),
    kind("tk-us-", WORD, 40),
    kind("tskey-", WORD, 20),
    kind("tvly-", WORD, 20),
    kind("v1.0-", HEX | super::character::DASH, 100),
    common("vcp_", ALPHANUMERIC, 40),
    kind("whsec_", BASE64, 20),
    kind("xai-", ALPHANUMERIC, 40),
    kind("xapp-", WORD, 20),
    kind("xkeysib-", WORD, 40),
    kind("xoxa-", WORD, 10),
    kind("xoxb-", WORD, 10),
    kind("xoxc-", WORD, 10),
    kind("xoxd-", WORD | super::character::PERCENT | BASE64, 10),
    kind("xoxe-", WORD, 10),
    kind("xoxe.", DOTTED, 20),
    kind("xoxo-", WORD, 10),
    kind("xoxp-", WORD, 10),
    kind("xoxr-", WORD, 10),
    kind("xoxs-", WORD, 10),
    kind("xprv", ALPHANUMERIC, 100),
    kind("xsmtpsib-", WORD, 40),
    kind("ya29.", DOTTED, 20),
    kind("zpka_", WORD, 30),
];

/// Where the kinds of each first byte begin and end in [`TOKEN_KINDS`].
static FIRST_BYTES: [(u16, u16); 128] = {
    let mut ranges = [(0, 0); 128];
    let mut index = 0;
    while index < TOKEN_KINDS.len() {
        let byte = TOKEN_KINDS[index].start.as_bytes()[0] as usize;
        if ranges[byte].1 == 0 {
            ranges[byte].0 = index as u16;
        }
        ranges[byte].1 = index as u16 + 1;
        index += 1;
    }
    ranges
};

/// The kinds that begin with this byte.
pub(super) fn kinds_from(byte: u8) -> &'static [TokenKind] {
    match FIRST_BYTES.get(usize::from(byte)) {
        Some(&(from, to)) => &TOKEN_KINDS[usize::from(from)..usize::from(to)],
        None => &[],
    }
}

/// What stands before the secret part of an address that is one: whoever knows it can post there.
pub(super) const SECRET_ADDRESSES: [&str; 10] = [
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    ".webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/",
    "hooks.zapier.com/hooks/catch/",
    "maker.ifttt.com/trigger/",
    "bitbucket-pipelines.com/token/",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_grouped_by_their_first_byte() {
        for kind in TOKEN_KINDS {
            let found = kinds_from(kind.start.as_bytes()[0]);
            assert!(found.iter().all(|other| other.start.as_bytes()[0] == kind.start.as_bytes()[0]), "{}", kind.start);
            assert!(found.iter().any(|other| other.start == kind.start), "{}", kind.start);
        }
    }
}
