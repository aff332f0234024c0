//! PostgreSQL's messages for people: without source lines, and with the grant for a missing right.

use sqlx::Error;
use sqlx::postgres::PgDatabaseError;

const NO_RIGHT: &str = "42501";
const NO_SCHEMA: &str = "3F000";

pub(super) fn in_words(error: &Error) -> String {
    let Some(said) = said(error) else { return error.to_string() };
    let details = [said.detail(), said.hint()].into_iter().flatten().map(|text| format!("; {text}"));
    let advice = match said.code() {
        NO_RIGHT => format!("; {}: docs/postgresql.md#roles", advice(said.message())),
        NO_SCHEMA => "; the role of `database_url` may use no schema of its search_path: \
             GRANT USAGE, CREATE ON SCHEMA public TO ROLE: docs/postgresql.md#roles"
            .to_owned(),
        _ => String::new(),
    };
    [said.message().to_owned(), details.collect(), advice].concat()
}

/// The server's own error, if any.
pub(super) fn said(error: &Error) -> Option<&PgDatabaseError> {
    error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()
}

/// The TLS error of the handshake, if any.
pub(super) fn fault_of_tls(error: &Error) -> Option<&rustls::Error> {
    let Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref()
}

pub(super) fn in_words_of_tls(fault: &rustls::Error) -> String {
    use rustls::CertificateError as Certificate;
    let rustls::Error::InvalidCertificate(certificate) = fault else { return fault.to_string() };
    match certificate {
        Certificate::UnknownIssuer => {
            format!("{fault}; name the file of its authority: sslrootcert=FILE")
        }
        Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
            format!("{fault}; the certificate is for another host")
        }
        // Its own message lists bytes.
        Certificate::UnsupportedSignatureAlgorithmContext { .. }
        | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "the certificate, or that of an authority, is signed in a way that is not supported: use RSA keys of \
             2048 bits or more, P-256, P-384 or Ed25519, and SHA-256 or longer"
                .to_owned()
        }
        _ => fault.to_string(),
    }
}

/// What to grant the role. If the server speaks another language, its own message must do.
fn advice(message: &str) -> String {
    let after = |start: &str| message.strip_prefix(start)?.split_once(' ');
    if let Some((kind, name)) = after("permission denied for ") {
        let rights = match kind {
            "table" | "view" | "relation" => format!("SELECT, INSERT, UPDATE, DELETE ON {name}"),
            "sequence" => format!("USAGE, SELECT, UPDATE ON SEQUENCE {name}"),
            "schema" => format!("USAGE, CREATE ON SCHEMA {name}"),
            "database" => format!("CONNECT ON DATABASE {name}"),
            "function" => format!("EXECUTE ON FUNCTION {name}"),
            _ => return "the role of `database_url` lacks a right".to_owned(),
        };
        return format!(
            "the role of `database_url` needs more rights, for all tables: GRANT {rights} TO ROLE"
        );
    }
    match after("must be owner of ") {
        Some((kind, name)) => {
            // PostgreSQL says "relation" for a table whose column is commented on.
            let kind = if kind == "relation" { "TABLE".to_owned() } else { kind.to_uppercase() };
            format!(
                "run `overnight migrate` as the owner of the tables, or ALTER {kind} {name} OWNER TO ROLE"
            )
        }
        None => "the role of `database_url` lacks a right".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_grant_is_told_by_the_kind_of_what_was_denied() {
        for (message, wanted) in [
            (
                "permission denied for table requests",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON requests TO ROLE",
            ),
            (
                "permission denied for sequence requests_seq_seq",
                "GRANT USAGE, SELECT, UPDATE ON SEQUENCE requests_seq_seq",
            ),
            ("permission denied for view jobs", "GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO ROLE"),
            ("permission denied for relation jobs", "GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO ROLE"),
            ("permission denied for schema night", "GRANT USAGE, CREATE ON SCHEMA night TO ROLE"),
            ("permission denied for database night", "GRANT CONNECT ON DATABASE night TO ROLE"),
            ("permission denied for function now", "GRANT EXECUTE ON FUNCTION now TO ROLE"),
            ("permission denied for tablespace fast", "the role of `database_url` lacks a right"),
            ("must be owner of table results", "ALTER TABLE results OWNER TO ROLE"),
            ("must be owner of relation api_keys", "ALTER TABLE api_keys OWNER TO ROLE"),
            ("keine Berechtigung für Tabelle requests", "the role of `database_url` lacks a right"),
            ("permission denied to create role", "the role of `database_url` lacks a right"),
        ] {
            assert!(advice(message).contains(wanted), "{message}: {}", advice(message));
        }
    }

    #[test]
    fn a_certificate_that_is_signed_in_an_old_way_is_refused_in_words() {
        let fault = rustls::CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![42, 134, 72],
            supported_algorithms: Vec::new(),
        };
        let words = in_words_of_tls(&rustls::Error::InvalidCertificate(fault));
        assert!(words.contains("SHA-256") && !words.contains("134"), "{words}");
    }
}
