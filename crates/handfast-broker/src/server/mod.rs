//! Connections: accepted, limited, answered.

mod accept;
mod activation;
mod connection;
mod describe;
mod dispatch;
mod listen;
mod metrics;
mod signals;

pub use accept::Running;
pub use activation::{listener_from_environment, notify_alive, notify_ready, watchdog_interval};
pub use describe::INTERFACE;
pub use listen::{bind_socket, default_socket};
pub use metrics::MetricsListener;
pub use signals::{Signalled, Signals};

use std::sync::Arc;

/// Something that runs inside the broker for a test.
pub(crate) type Probe = Arc<dyn Fn(&str) -> String + Send + Sync>;
