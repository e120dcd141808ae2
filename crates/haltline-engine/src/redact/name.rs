//! What the name of a value says of it: that it is a secret, that it may be one, or nothing.

/// How sure a name makes it that the value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Promise {
    /// The value is a secret if it looks random.
    Perhaps,
    /// A token or a key: a secret unless it looks like a word or a small number.
    Token,
    /// A password: people choose words.
    Password,
}

/// The longest part of a name that is read, from its end.
pub(super) const NAME_BYTES_MAX: usize = 80;

/// What follows a noun and leaves it what it is: `PASSWORD_PROD`, `token2`.
const MODIFIERS: [&str; 54] = [
    "prod",
    "production",
    "dev",
    "development",
    "test",
    "testing",
    "staging",
    "stage",
    "live",
    "sandbox",
    "local",
    "default",
    "old",
    "new",
    "value",
    "val",
    "raw",
    "plain",
    "plaintext",
    "clear",
    "base64",
    "b64",
    "hex",
    "str",
    "string",
    "text",
    "data",
    "current",
    "previous",
    "prev",
    "primary",
    "secondary",
    "ro",
    "rw",
    "read",
    "write",
    "admin",
    "root",
    "user",
    "main",
    "backup",
    "env",
    "var",
    "literal",
    "db",
    "confirm",
    "confirmation",
    "again",
    "repeat",
    "a",
    "b",
    "enc",
    "again",
    "ci",
];

/// What follows a noun and makes it something else: `token_count`, `password_file`.
const OTHER_NOUNS: [&str; 56] = [
    "name",
    "names",
    "file",
    "files",
    "path",
    "dir",
    "id",
    "ids",
    "type",
    "types",
    "count",
    "counts",
    "limit",
    "limits",
    "len",
    "length",
    "size",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "age",
    "url",
    "uri",
    "endpoint",
    "field",
    "prompt",
    "policy",
    "required",
    "enabled",
    "valid",
    "status",
    "error",
    "usage",
    "used",
    "budget",
    "max",
    "min",
    "index",
    "kind",
    "version",
    "ref",
    "store",
    "manager",
    "provider",
    "helper",
    "arn",
    "input",
    "output",
    "label",
    "hint",
    "reset",
    "command",
    "cmd",
    "cost",
    "format",
];

/// Companies whose keys have no form of their own and stand beside their name.
const VENDORS: [&str; 72] = [
    "adafruit",
    "adobe",
    "airtable",
    "algolia",
    "alibaba",
    "asana",
    "atlassian",
    "beamer",
    "bitbucket",
    "bittrex",
    "cloudflare",
    "codecov",
    "cohere",
    "coinbase",
    "confluence",
    "confluent",
    "contentful",
    "contribsys",
    "datadog",
    "discord",
    "dnkey",
    "droneci",
    "dropbox",
    "etsy",
    "facebook",
    "fastly",
    "finicity",
    "finnhub",
    "flickr",
    "freshbooks",
    "gitter",
    "gocardless",
    "heroku",
    "hubspot",
    "intercom",
    "jfrog",
    "artifactory",
    "bintray",
    "xray",
    "jira",
    "kraken",
    "kucoin",
    "launchdarkly",
    "linear",
    "linkedin",
    "lob",
    "looker",
    "mailchimp",
    "mailgun",
    "mapbox",
    "mattermost",
    "meraki",
    "messagebird",
    "netlify",
    "newrelic",
    "nytimes",
    "okta",
    "plaid",
    "privateai",
    "rapidapi",
    "sendbird",
    "sentry",
    "snyk",
    "sonar",
    "squarespace",
    "sumo",
    "telegr",
    "travis",
    "twitch",
    "twitter",
    "yandex",
    "zendesk",
];

/// What a name promises, as in `db_password`, `clientSecret`, `X-Api-Key`, `spring.datasource.password`.
pub(super) fn promise(name: &str) -> Option<Promise> {
    let name = lower_parts(name);
    let mut parts: [&str; 12] = [""; 12];
    let mut count = 0;
    for part in name.rsplit('_').filter(|part| !part.is_empty()).take(12) {
        parts[count] = part;
        count += 1;
    }
    // From the last part to the first.
    let mut parts = &parts[..count];
    let mut is_modified = false;
    loop {
        let last = parts.first()?;
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
        let word = last.trim_end_matches(|digit: char| digit.is_ascii_digit());
        if parts.len() > 1 && (is_number || MODIFIERS.contains(&word)) {
            parts = &parts[1..];
            is_modified = true;
        } else {
            break;
        }
    }
    let noun = parts[0].trim_end_matches(|digit: char| digit.is_ascii_digit());
    let before = parts.get(1).copied().unwrap_or_default();
    if matches!(name.as_str(), "pwd" | "oldpwd" | "old_pwd") && !is_modified {
        return Some(Promise::Perhaps);
    }
    if name == "_gitlab_session" {
        return Some(Promise::Token);
    }
    if let Some(promise) = of_noun(noun, before) {
        return Some(promise);
    }
    if OTHER_NOUNS.contains(&noun) {
        return None;
    }
    let has_noun = std::iter::zip(&parts[1..], parts[2.min(parts.len())..].iter().chain([&""]))
        .any(|(noun, before)| of_noun(noun, before).is_some_and(|promise| promise > Promise::Perhaps));
    has_noun.then_some(Promise::Perhaps)
}

fn has_vendor(name: &str) -> bool {
    let starts = |part: &str| {
        let first = part.as_bytes().first();
        VENDORS.iter().any(|vendor| vendor.as_bytes().first() == first && is_vendor(part, vendor))
    };
    let of_words = ["message_bird", "linked_in", "new_relic", "new_york_times", "private_ai", "co_api"];
    name.split('_').any(starts) || of_words.iter().any(|words| name.contains(words))
}

/// True if the name holds that of a company whose keys have no form of their own.
pub(super) fn is_of_vendor(name: &str) -> bool {
    has_vendor(&lower_parts(name))
}

/// Short names of vendors are parts of other words.
fn is_vendor(part: &str, vendor: &str) -> bool {
    part.strip_prefix(vendor).is_some_and(|rest| rest.is_empty() || vendor.len() > 5)
}

fn of_noun(noun: &str, before: &str) -> Option<Promise> {
    const PASSWORDS: [&str; 9] =
        ["password", "passwd", "passphrase", "passcode", "passwort", "password1", "kennwort", "passwrd", "motdepasse"];
    if PASSWORDS.iter().any(|password| noun.ends_with(password)) {
        return Some(Promise::Password);
    }
    match noun {
        "pass" | "pw" | "pwd" | "psk" | "passw" | "pword" | "contrasena" | "dbpass" | "userpass" | "adminpass"
        | "rootpass" | "storepass" | "keypass" | "smtppass" | "mailpass" | "ftppass" | "sshpass" | "mypass"
        | "requirepass" | "masterauth" | "passin" | "passout" | "userpw" | "dbpw" | "dbpwd" | "mysqlpwd" | "pgpass"
        | "uid_pwd" => return Some(Promise::Password),
        "secret" | "clientsecret" | "appsecret" | "apisecret" | "jwtsecret" | "token" | "jwt" | "apikey"
        | "secretkey" | "accesskey" | "privatekey" | "authkey" | "signingkey" | "appkey" | "masterkey"
        | "encryptionkey" | "accountkey" | "hmackey" | "sessionkey" | "consumerkey" | "licensekey" | "credential"
        | "clientkey" | "sharedaccesskey" | "authtoken" | "accesstoken" | "refreshtoken" | "bearer" | "passkey"
        | "mnemonic" | "authorizationtoken" | "oauthtoken" | "webtoken" | "idtoken" | "apitoken"
        | "secretaccesskey" | "patoken" | "pat" => return Some(Promise::Token),
        "key" => {
            return Some(match before {
                "api" | "secret" | "access" | "private" | "auth" | "signing" | "encryption" | "master" | "account"
                | "client" | "app" | "application" | "consumer" | "service" | "session" | "shared" | "storage"
                | "deploy" | "license" | "licence" | "subscription" | "hmac" | "aes" | "des" | "rsa" | "decryption"
                | "admin" | "server" | "ssh" | "gpg" | "pgp" | "functions" | "webhook" | "jwt" | "bearer"
                | "crypto" | "cipher" | "wrapping" | "ingest" | "integration" | "partner" | "merchant"
                | "developer" | "personal" | "apikey" | "publishable" | "validation" | "machine" | "symmetric"
                | "connection" | "vault" | "unseal" | "recovery" | "activation" => Promise::Token,
                "cache" | "sort" | "primary" | "foreign" | "partition" | "public" | "object" | "row" | "group"
                | "lookup" | "hot" | "arrow" | "dedup" | "state" | "registry" | "from" => return None,
                _ => Promise::Perhaps,
            });
        }
        _ => {}
    }
    if noun.ends_with("secret") || noun.ends_with("token") || noun.ends_with("apikey") {
        return Some(Promise::Token);
    }
    match noun {
        "keys" | "tokens" | "secrets" | "passwords" | "credentials" | "creds" | "cred" | "auth" | "authorization"
        | "sid" | "sessid" | "signature" | "sig" | "cookie" | "salt" | "csrf" | "xsrf" | "webhook" | "seed" | "sas"
        | "access" | "connstr" | "authenticity" => Some(Promise::Perhaps),
        _ => None,
    }
}

/// The name in small letters with `_` between its parts.
fn lower_parts(name: &str) -> String {
    let bytes = name.as_bytes();
    let mut parts = String::with_capacity(bytes.len() + 8);
    for (at, &byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            parts.push('_');
            continue;
        }
        let before = at.checked_sub(1).map_or(b'_', |at| bytes[at]);
        let after = bytes.get(at + 1).copied().unwrap_or(b'_');
        // `clientSecret` and `APIKey`
        let begins = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if begins && !parts.ends_with('_') {
            parts.push('_');
        }
        parts.push(char::from(byte.to_ascii_lowercase()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_its_noun() {
        for (name, expected) in [
            ("password", Some(Promise::Password)),
            ("DB_PASS", Some(Promise::Password)),
            ("spring.datasource.password", Some(Promise::Password)),
            ("MYSQL_PASSWORD_PROD2", Some(Promise::Password)),
            ("clientSecret", Some(Promise::Token)),
            ("SECRET_KEY", Some(Promise::Token)),
            ("X-Api-Key", Some(Promise::Token)),
            ("APIKey", Some(Promise::Token)),
            ("--client-secret", Some(Promise::Token)),
            ("herokuId", None),
            ("token_count", None),
            ("password_file", None),
            ("max_tokens", Some(Promise::Perhaps)),
            ("bypass", None),
            ("compass", None),
            ("monkey", None),
            ("PWD", Some(Promise::Perhaps)),
            ("", None),
            ("___", None),
        ] {
            assert_eq!(promise(name), expected, "{name}");
        }
    }
}
