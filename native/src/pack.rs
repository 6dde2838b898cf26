//! The answer, in MessagePack: what msgspec makes objects of in one go.

#[derive(Default)]
pub struct Pack {
    pub bytes: Vec<u8>,
}

impl Pack {
    pub fn map(&mut self, count: usize) {
        if count < 16 {
            self.bytes.push(0x80 | count as u8);
        } else {
            self.bytes.push(0xde);
            self.bytes.extend_from_slice(&(count as u16).to_be_bytes());
        }
    }

    pub fn list(&mut self, count: usize) {
        if count < 16 {
            self.bytes.push(0x90 | count as u8);
        } else {
            self.bytes.push(0xdd);
            self.bytes.extend_from_slice(&(count as u32).to_be_bytes());
        }
    }

    pub fn text(&mut self, text: &str) {
        match text.len() {
            length @ 0..=31 => self.bytes.push(0xa0 | length as u8),
            length @ 32..=255 => self.bytes.extend_from_slice(&[0xd9, length as u8]),
            length => {
                self.bytes.push(0xdb);
                self.bytes.extend_from_slice(&(length as u32).to_be_bytes());
            }
        }
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.push(0xc6);
        self.bytes.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    pub fn number(&mut self, number: u64) {
        self.bytes.push(0xcf);
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    pub fn real(&mut self, number: f64) {
        self.bytes.push(0xcb);
        self.bytes.extend_from_slice(&number.to_be_bytes());
    }

    pub fn truth(&mut self, truth: bool) {
        self.bytes.push(if truth { 0xc3 } else { 0xc2 });
    }

    pub fn nothing(&mut self) {
        self.bytes.push(0xc0);
    }
}
