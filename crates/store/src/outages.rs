//! Outages, failovers, what these did to calls, and hours of services, on their way to their tables.

use ringtap_model::{AffectedCall, Failover, Id, Nanos, Outage, ServiceHour};

use crate::format::Encoder;
use crate::record::{Encoders, RecordType, StoredRecord};

impl StoredRecord for Outage {
    const TYPE: RecordType = RecordType::Outage;
    const TABLE: &'static str = "outages";
    const START: &'static str = "from_us";
    const COLUMNS: &'static str = "id, from_us, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.outage
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.from
    }
}

impl StoredRecord for Failover {
    const TYPE: RecordType = RecordType::Failover;
    const TABLE: &'static str = "failovers";
    const START: &'static str = "from_us";
    const COLUMNS: &'static str = "id, from_us, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.failover
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.from
    }
}

impl StoredRecord for ServiceHour {
    const TYPE: RecordType = RecordType::ServiceHour;
    const TABLE: &'static str = "service_hours";
    const START: &'static str = "from_us";
    const COLUMNS: &'static str = "id, from_us, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.service_hour
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.from
    }
}

impl StoredRecord for AffectedCall {
    const TYPE: RecordType = RecordType::AffectedCall;
    const TABLE: &'static str = "affected_calls";
    const START: &'static str = "failover_us";
    const COLUMNS: &'static str = "id, failover_us, format, record";
    const APART: &'static [&'static str] = &["id"];

    fn encoder(encoders: &mut Encoders) -> &mut Encoder<Self> {
        &mut encoders.affected_call
    }

    fn id(&self) -> Id {
        self.id
    }

    fn start(&self) -> Nanos {
        self.failover_from
    }
}
