//! Warrants: whom the law lets be watched, who ordered it, and every act of it, in a sealed register.
#![forbid(unsafe_code)]
