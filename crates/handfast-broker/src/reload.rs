//! Another policy for a broker that runs.

use handfast_session::policy::OnRevoke;
use handfast_session::{Caller, Session, SessionOptions};

use crate::broker::Broker;
use crate::lease::Ended;
use crate::rulebook::Rulebook;
use crate::spiffe::TrustBundle;
use crate::start::StartError;

impl Rulebook {
    /// Whether everything in it can be kept by this process.
    ///
    /// # Errors
    /// In words, for the first thing that cannot: SPIFFE ids that nobody can check, processes that
    /// it may not end.
    pub(crate) fn check(&self, bundle: Option<&TrustBundle>) -> Result<(), StartError> {
        self.check_spiffe(bundle)?;
        if self.terms.on_revoke == OnRevoke::Kill && self.serves_others() && !may_kill() {
            let why = "[lease] `on_revoke = \"kill\"`: processes of other users can be ended only with the right to kill them (root, or CAP_KILL); say \"deny\", or start the broker with it";
            return Err(self.lines.locate("[lease]", 0, why));
        }
        Ok(())
    }

    /// What a start would refuse, without one: a rule that this process cannot keep, a directory that
    /// cannot be opened.
    ///
    /// # Errors
    /// In words, with the line of the policy, for the first of them.
    pub fn check_start(&self, bundle: Option<&TrustBundle>) -> Result<(), StartError> {
        self.check(bundle)?;
        (0..self.roots.len()).try_for_each(|number| self.open_root(number).map(drop))
    }

    /// Opens one of the directories that are served.
    ///
    /// # Errors
    /// In words, with the line of the policy.
    pub(crate) fn open_root(&self, number: usize) -> Result<handfast::Root, StartError> {
        let root = &self.roots[number];
        handfast::Root::open_ambient(root.spec.host_dir()).map_err(|error| {
            let shown = handfast::escape(root.spec.host_dir().as_os_str().as_encoded_bytes());
            let (name, why) = (&root.name, error.detail());
            let why = format!("the directory `{shown}` of the root `{name}`: {why}");
            self.lines.locate("[[root]]", number, &why)
        })
    }

    /// Whether it can take the place of another while the broker runs.
    ///
    /// # Errors
    /// For what is fixed at the start: which directories are served where, which the wall was built
    /// around; limits; the log.
    fn check_follows(&self, before: &Self) -> Result<(), StartError> {
        let fixed = |header: &str, number: usize, what: &str| {
            let why = format!("{what} cannot change while the broker runs; start it again");
            Err(self.lines.locate(header, number, &why))
        };
        let places = |rulebook: &Self| -> Vec<_> {
            let roots = rulebook.roots.iter();
            roots
                .map(|root| {
                    let at = root.spec.mount_point().clone();
                    (root.name.clone(), root.spec.host_dir().to_owned(), at)
                })
                .collect()
        };
        let (now, then) = (places(self), places(before));
        if now != then {
            let same = now.iter().zip(&then).take_while(|(a, b)| a == b).count();
            return fixed("[[root]]", same, "the name, path or mount of a [[root]]");
        }
        if self.limits != before.limits {
            return fixed("[limits]", 0, "[limits]");
        }
        if self.log != before.log {
            return fixed("[log]", 0, "[log]");
        }
        if self.is_for_others() && !before.is_for_others() {
            let what = "that other users are served, for whom the socket was not opened,";
            return fixed("[[allow]]", 0, what);
        }
        Ok(())
    }
}

impl Broker {
    /// Puts another policy in force. It counts at each next use; leases of users to whom it grants
    /// none of their verbs end. Gives how many.
    ///
    /// # Errors
    /// If it cannot be kept, or the log does not take it: then everything is as before.
    pub(crate) fn reload(&self, rulebook: Rulebook) -> Result<usize, StartError> {
        let before = self.rulebook();
        rulebook.check(self.bundle.as_ref())?;
        rulebook.check_follows(&before)?;
        let looking = match rulebook.has_roots_of(&before) {
            // Counts of what was written go on.
            true => None,
            false => Some(self.open_again(&rulebook)?),
        };
        let journal = self.scribe.journal();
        journal
            .policy_loaded(None, &rulebook.sha256)
            .map_err(|fault| StartError::Log(fault.to_string()))?;
        self.scribe.set_policy(&rulebook.sha256);
        self.in_force.replace(rulebook, looking);
        let now = self.rulebook();
        let mut ended = 0;
        for lease in self.table.below("") {
            if now.may_serve(&lease) {
                continue;
            }
            ended += self.end(&lease, Ended::Revoked, None).complain();
        }
        // What the kernel has of a file that is denied by now must be asked for again.
        self.mounts.rules_changed();
        Ok(ended)
    }

    /// A session with other rules on the same directories.
    fn open_again(&self, rulebook: &Rulebook) -> Result<Session, StartError> {
        let private = self.private.iter();
        let options = private.fold(SessionOptions::new(), SessionOptions::private);
        let looking = Session::with_options(&rulebook.session(), options, Caller::new("broker"))
            .map_err(StartError::config)?;
        let before = self.in_force.looking();
        for root in &rulebook.roots {
            let at = root.spec.mount_point();
            let of = |session: &Session| session.metadata(at).map_err(StartError::config);
            if !of(&looking)?.identity.same_object(&of(&before)?.identity) {
                return Err(StartError::Config(format!(
                    "the directory for root `{}` is another one by now; start the broker again",
                    root.name
                )));
            }
        }
        Ok(looking)
    }
}

/// Whether this process may end those of other users.
fn may_kill() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::KILL))
}
