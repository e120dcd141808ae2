//! As much of HTTP/1.1 as a client on loopback needs: one request at a time per connection, bodies with a length or in
//! chunks. Anything unexpected ends the connection.

use std::io::{self, BufRead, Read, Write};

pub(super) struct Request {
    pub(super) method: String,
    /// The path without the query.
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Reads the next request; `None` when the peer has closed the connection.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let first = line(input)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let mut headers = Vec::new();
        loop {
            let header = line(input)?;
            let Some((name, value)) = header.split_once(':') else { break };
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut request = Self { method: method.to_owned(), path, headers, body: Vec::new() };
        request.body = match (request.header("content-length"), request.header("transfer-encoding")) {
            (Some(length), _) => exactly(input, length.parse().map_err(io::Error::other)?)?,
            (None, Some("chunked")) => chunks(input)?,
            (None, _) => Vec::new(),
        };
        Ok(Some(request))
    }

    /// The value of a header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn exactly(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(&line(input)?, 16).map_err(io::Error::other)?;
        body.extend(exactly(input, length)?);
        line(input)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Answers with a body of known length; the connection stays open.
pub(super) fn answer(output: &mut impl Write, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let reason = if status == 200 { "OK" } else { "Error" };
    let length = body.len();
    write!(output, "HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_with_a_length_or_in_chunks() {
        let mut wire = &b"POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}POST /b HTTP/1.1\r\n\
            Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"[..];
        let first = Request::read(&mut wire).expect("read").expect("one more");
        assert_eq!((first.path.as_str(), first.body.as_slice()), ("/v1/messages", &b"{}"[..]));
        let second = Request::read(&mut wire).expect("read").expect("one more");
        assert_eq!((second.path.as_str(), second.body.as_slice()), ("/b", &b"abcde"[..]));
        assert!(Request::read(&mut wire).expect("read").is_none());
    }
}
