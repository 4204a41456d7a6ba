//! The memory in which chunks grow: one allocation, cut into pages of 4 KiB.

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Pages given out and taken back; nothing is allocated after the start.
pub(crate) struct Pool {
    memory: Vec<u8>,
    free: Vec<u32>,
}

impl Pool {
    /// As many pages as fit into `bytes`, touched now so that no packet waits for the kernel later.
    pub(crate) fn new(bytes: usize) -> Self {
        let pages = (bytes / PAGE).clamp(1, u32::MAX as usize);
        let mut memory = Vec::with_capacity(pages * PAGE);
        ringtap_cpu::large_pages(memory.spare_capacity_mut());
        // Not zeroed memory, which the kernel would only promise.
        memory.resize(pages * PAGE, 0xff);
        Self { memory, free: (0..pages as u32).rev().collect() }
    }

    pub(crate) fn total(&self) -> usize {
        self.memory.len() / PAGE
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    pub(crate) fn give(&mut self, page: u32) {
        self.free.push(page);
    }

    pub(crate) fn page(&self, page: u32) -> &[u8] {
        &self.memory[page as usize * PAGE..][..PAGE]
    }

    pub(crate) fn page_mut(&mut self, page: u32) -> &mut [u8] {
        &mut self.memory[page as usize * PAGE..][..PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back() {
        let mut pool = Pool::new(3 * PAGE + 1);
        let taken: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!((taken.len(), pool.total()), (3, 3));
        pool.page_mut(taken[1]).fill(7);
        assert_eq!((pool.page(taken[1])[PAGE - 1], pool.page(taken[0])[0]), (7, 0xff));
        pool.give(taken[1]);
        assert_eq!(pool.take(), Some(taken[1]));
    }
}
