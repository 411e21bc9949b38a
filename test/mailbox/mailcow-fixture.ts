import { createMailcowSimulator, type MailcowSimulator } from '../../src/sandbox/mail/mailcow.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { MailConfig } from '../../src/server/mailbox/create-mail-backend.ts';
import { DOMAIN, mailConfig } from './mailbox-fixture.ts';

/** A simulated mailcow with the settings that use it. */
export interface MailcowFixture {
  readonly mailcow: MailcowSimulator;
  readonly sandbox: Sandbox;
  readonly config: MailConfig;
}

interface MailcowOptions {
  /** The service's API key; default: the one with full access. */
  readonly keyOf?: (mailcow: MailcowSimulator) => string;
  readonly latencyMs?: number;
}

/** A simulated mailcow and the settings of a service that uses it. The caller stops the sandbox. */
export async function startMailcow({
  keyOf = ({ readWriteKey }) => readWriteKey,
  latencyMs = 0,
}: MailcowOptions = {}): Promise<MailcowFixture> {
  const mailcow = createMailcowSimulator(DOMAIN);
  const sandbox = await startSandbox({ simulators: [mailcow.simulator], latencyMs });
  const config = mailConfig({
    mailBackend: 'mailcow',
    mailApiUrl: { url: sandbox.url('mailcow'), key: keyOf(mailcow) },
  });
  return { mailcow, sandbox, config };
}
