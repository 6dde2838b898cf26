//! Gossamer's reader of pages: one call for a page, with the results of the Python code, byte for byte.
//!
//! `gossamer/process/html.py` is the reference, and says what everything means; each file here names the Python file
//! that it does the same as. `gossamer/process/native.py` loads this library and hands it the tables of the reference.
//!
//! The interface is plain C, called by ctypes, which lets go of the interpreter's lock meanwhile. The answer is
//! MessagePack in memory of the calling thread, good until its next call. Nothing here ends the process: a panic is a
//! refusal, and the Python code reads the page then.
//!
//! `unsafe` is allowed where lexbor's pointers are followed (`lexbor.rs`), where addresses become tables (`tables.rs`),
//! where ada and Python are called (`canonical.rs`, `links.rs`), and here.

#![deny(unsafe_code)]

mod areas;
mod canonical;
mod language;
mod lexbor;
mod links;
mod nesting;
mod pack;
mod page;
mod reading;
mod said;
mod srcset;
mod tables;
mod text;
mod words;

#[allow(unsafe_code)]
mod interface {
    use std::cell::RefCell;
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::slice;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{OnceLock, RwLock};

    use crate::canonical::Choice;
    use crate::page::{read, Refusal, Scratch, Wanted};
    use crate::tables::Tables;

    const IMAGES: u32 = 1;
    const SCRIPTS: u32 = 2;
    const UTF8: u32 = 4;
    const HARMLESS: u32 = 8;
    const GUESS: u32 = 16;
    const TEXTS: u32 = 32;
    const KEPT_BYTES_MAX: usize = 4 << 20; // of the answer to a large page

    static TABLES: OnceLock<Tables> = OnceLock::new();
    static CHOICE: RwLock<Option<Choice>> = RwLock::new(None);
    static CHANGES: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static SCRATCH: RefCell<(usize, Scratch)> = RefCell::default();
    }

    /// # Safety
    /// There are so many bytes of UTF-8 at this address.
    unsafe fn text<'t>(data: *const u8, length: usize) -> &'t str {
        std::str::from_utf8(unsafe { slice::from_raw_parts(data, length) }).unwrap_or("")
    }

    /// The tables, once. 0: good; otherwise so many bytes of what is wrong were written to `why`.
    ///
    /// # Safety
    /// The addresses in the text are those that they are said to be (`Tables::read`); `why` has room for `room` bytes.
    #[no_mangle]
    pub unsafe extern "C" fn gossamer_tables(data: *const u8, length: usize, why: *mut u8, room: usize) -> usize {
        let read = catch_unwind(|| unsafe { Tables::read(text(data, length)) });
        let fault = match read {
            Ok(Ok(tables)) => {
                let _ = TABLES.set(tables);
                return 0;
            }
            Ok(Err(fault)) => fault,
            Err(_) => "it failed".to_owned(),
        };
        let count = fault.len().min(room);
        unsafe { slice::from_raw_parts_mut(why, count) }.copy_from_slice(&fault.as_bytes()[..count]);
        count
    }

    /// What is crawled and which parameters are dropped. Sites that were remembered are forgotten.
    ///
    /// # Safety
    /// There are so many bytes of UTF-8 at this address.
    #[no_mangle]
    pub unsafe extern "C" fn gossamer_choose(data: *const u8, length: usize) {
        let choice = Choice::read(unsafe { text(data, length) });
        if let Ok(mut chosen) = CHOICE.write() {
            *chosen = Some(choice);
        }
        CHANGES.fetch_add(1, Ordering::SeqCst);
    }

    /// A page. The answer, and its length in `answer_length`; null where it is refused, and the reason there.
    ///
    /// # Safety
    /// There are so many bytes at these addresses; URL and agent are UTF-8.
    #[no_mangle]
    pub unsafe extern "C" fn gossamer_read(
        markup: *const u8,
        markup_length: usize,
        url: *const u8,
        url_length: usize,
        agent: *const u8,
        agent_length: usize,
        flags: u32,
        answer_length: *mut usize,
    ) -> *const u8 {
        let wanted = unsafe {
            Wanted {
                markup: slice::from_raw_parts(markup, markup_length),
                url: text(url, url_length),
                agent: text(agent, agent_length),
                images: flags & IMAGES != 0,
                scripts: flags & SCRIPTS != 0,
                is_utf8: flags & UTF8 != 0,
                is_harmless: flags & HARMLESS != 0,
                is_guess: flags & GUESS != 0,
                texts: flags & TEXTS != 0,
            }
        };
        let answer = catch_unwind(AssertUnwindSafe(|| answer(&wanted))).unwrap_or(Err(Refusal::Failed));
        let (pointer, length) = match answer {
            Ok((pointer, length)) => (pointer, length),
            Err(refusal) => (std::ptr::null(), refusal as usize),
        };
        unsafe { *answer_length = length };
        pointer
    }

    fn answer(wanted: &Wanted) -> Result<(*const u8, usize), Refusal> {
        let tables = TABLES.get().ok_or(Refusal::Failed)?;
        let choice = CHOICE.read().map_err(|_| Refusal::Failed)?;
        let choice = choice.as_ref().ok_or(Refusal::Failed)?;
        SCRATCH.with(|scratch| {
            let mut scratch = scratch.try_borrow_mut().map_err(|_| Refusal::Failed)?;
            let changes = CHANGES.load(Ordering::SeqCst);
            if scratch.0 != changes {
                scratch.1.sites.clear();
                scratch.0 = changes;
            }
            let scratch = &mut scratch.1;
            if scratch.out.bytes.capacity() > KEPT_BYTES_MAX {
                scratch.out.bytes = Vec::new();
            }
            read(wanted, tables, choice, scratch)?;
            Ok((scratch.out.bytes.as_ptr(), scratch.out.bytes.len()))
        })
    }
}
