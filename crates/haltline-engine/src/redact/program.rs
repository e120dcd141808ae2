//! Programs that take a secret on their command line, and how.

/// What a program takes as a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// The next word, or what is attached.
    Word,
    /// Only what is attached: `-pX`.
    Attached,
    /// `user:password`, of which the second part is masked.
    Pair(u8),
    Cookies,
    /// `pass:x`
    Pass,
}

/// A program, a subcommand that must stand behind it, an option, and what the option takes.
pub(super) type Row = (&'static [&'static str], &'static str, &'static str, Takes);

pub(super) const OPTIONS: &[Row] = &[
    (&["curl"], "", "-u", Takes::Pair(b':')),
    (&["curl"], "", "-U", Takes::Pair(b':')),
    (&["curl"], "", "--user", Takes::Pair(b':')),
    (&["curl"], "", "--proxy-user", Takes::Pair(b':')),
    (&["curl"], "", "-E", Takes::Pair(b':')),
    (&["curl"], "", "--cert", Takes::Pair(b':')),
    (&["curl"], "", "-b", Takes::Cookies),
    (&["curl"], "", "--cookie", Takes::Cookies),
    (&["curl"], "", "--oauth2-bearer", Takes::Word),
    (&["http", "https", "xh", "xhs"], "", "-a", Takes::Pair(b':')),
    (&["http", "https", "xh", "xhs"], "", "--auth", Takes::Pair(b':')),
    (MYSQL, "", "-p", Takes::Attached),
    (&["sshpass"], "", "-p", Takes::Word),
    (REGISTRY, "login", "-p", Takes::Word),
    (&["skopeo", "buildah", "podman", "oras"], "", "--creds", Takes::Pair(b':')),
    (&["skopeo"], "", "--src-creds", Takes::Pair(b':')),
    (&["skopeo"], "", "--dest-creds", Takes::Pair(b':')),
    (&["cf", "az", "oc", "argocd", "twine", "rancher"], "", "-p", Takes::Word),
    (&["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"], "", "-p", Takes::Word),
    (&["cqlsh", "cypher-shell", "rdesktop", "ncftp"], "", "-p", Takes::Word),
    (&["redis-cli", "redis-benchmark", "valkey-cli"], "", "-a", Takes::Word),
    (&["sqlcmd", "bcp", "isql", "tsql", "osql", "mosquitto_pub", "mosquitto_sub", "ipmitool"], "", "-P", Takes::Word),
    (&["ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami", "ldappasswd"], "", "-w", Takes::Word),
    (&["smbclient", "rpcclient", "smbmap"], "", "-U", Takes::Pair(b'%')),
    (&["lftp"], "", "-u", Takes::Pair(b',')),
    (&["zip", "unzip", "zipcloak"], "", "-P", Takes::Word),
    (&["7z", "7za", "7zr", "rar", "unrar"], "", "-p", Takes::Attached),
    (&["rar", "7z"], "", "-hp", Takes::Attached),
    (&["ssh-keygen"], "", "-N", Takes::Word),
    (&["ssh-keygen"], "", "-P", Takes::Word),
    (&["openssl"], "", "-k", Takes::Word),
    (&["openssl"], "", "-K", Takes::Word),
    (&["openssl"], "", "-pass", Takes::Pass),
    (&["openssl"], "", "-passin", Takes::Pass),
    (&["openssl"], "", "-passout", Takes::Pass),
    (&["openssl"], "", "-password", Takes::Pass),
    (&["useradd", "usermod"], "", "-p", Takes::Word),
    (&["snmpwalk", "snmpget", "snmpset"], "", "-A", Takes::Word),
    (&["doctl", "ngrok"], "", "-t", Takes::Word),
    (&["gh", "glab"], "secret", "-b", Takes::Word),
    (&["gh", "glab"], "secret", "--body", Takes::Word),
];

const MYSQL: &[&str] = &[
    "mysql",
    "mysqldump",
    "mysqladmin",
    "mysqlimport",
    "mysqlshow",
    "mysqlcheck",
    "mariadb",
    "mariadb-dump",
    "mycli",
    "mysqlsh",
];
const REGISTRY: &[&str] = &[
    "docker",
    "podman",
    "nerdctl",
    "helm",
    "oras",
    "crane",
    "buildah",
    "skopeo",
    "registry",
    "az",
    "ecs",
    "docker-compose",
];

/// Programs whose command ends with a secret: the words before it, and how many more words stand between.
pub(super) const POSITIONS: &[(&[&str], usize)] = &[
    (&["vault", "login"], 0),
    (&["cargo", "login"], 0),
    (&["ngrok", "authtoken"], 0),
    (&["ngrok", "config", "add-authtoken"], 0),
    (&["rabbitmqctl", "add_user"], 1),
    (&["rabbitmqctl", "change_password"], 1),
    (&["wpa_passphrase"], 1),
    (&["ansible-vault", "encrypt_string"], 0),
    (&["poetry", "config", "http-basic"], 1),
    (&["set-authtoken"], 0),
];

/// Programs that the tables name, and those whose words are looked at for another reason.
pub(super) fn is_known(program: &str) -> bool {
    let Some(&first) = program.as_bytes().first() else { return false };
    let lengths = PROGRAM_LENGTHS.get(usize::from(first)).copied().unwrap_or_default();
    lengths & (1 << program.len().min(31)) != 0
        && (OTHER_PROGRAMS.contains(&program)
            || OPTIONS.iter().any(|(programs, ..)| programs.contains(&program))
            || POSITIONS.iter().any(|(words, _)| words[0] == program))
}

/// Programs whose words are looked at for another reason than an option.
const OTHER_PROGRAMS: &[&str] = &[
    "echo", "printf", "sudo", "su", "passwd", "chpasswd", "htpasswd", "nmcli", "kubectl", "git", "npm", "aws", "heroku",
];

/// By its first byte, how long the name of a known program is: nearly every word is none, and this tells it at once.
static PROGRAM_LENGTHS: [u32; 128] = {
    let mut lengths = [0; 128];
    let mut row = 0;
    while row < OPTIONS.len() {
        lengths = with_lengths(lengths, OPTIONS[row].0, usize::MAX);
        row += 1;
    }
    row = 0;
    while row < POSITIONS.len() {
        lengths = with_lengths(lengths, POSITIONS[row].0, 1);
        row += 1;
    }
    with_lengths(lengths, OTHER_PROGRAMS, usize::MAX)
};

const fn with_lengths(mut lengths: [u32; 128], programs: &[&str], most: usize) -> [u32; 128] {
    let mut index = 0;
    while index < programs.len() && index < most {
        let program = programs[index].as_bytes();
        let length = if program.len() < 31 { program.len() } else { 31 };
        lengths[program[0] as usize] |= 1 << length;
        index += 1;
    }
    lengths
}
