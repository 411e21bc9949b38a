import { type Command, InvalidArgumentError } from 'commander';
import { toSeconds } from '../../contract/time-units.ts';
import type { EventInfo, Reelgate } from '../../sdk/index.ts';
import type { CommandContext } from '../command-context.ts';
import { EXIT } from '../errors.ts';
import type { RunCommand } from '../run-command.ts';

interface ListenOptions {
  readonly forward: string;
  readonly secret?: string;
}

/** Imported when the command runs, because printing help does not need it. */
const importSignature = () => import('../../contract/webhooks.ts');

const POLL_MS = 2_000;
/**
 * Event queries overlap by this many seconds, because an earlier event may become visible after a later concurrent one.
 */
const OVERLAP_SECONDS = 60;
const TIMEOUT_MS = 15_000;

/** `reelgate listen` */
export function addListenCommand(program: Command, run: RunCommand): void {
  program
    .command('listen')
    .requiredOption('--forward <url>', 'where your program listens on this machine', parseHttpUrl)
    .option('--secret <whsec>', 'signs with this secret; default: a new one, which is shown')
    .description('Forward your events to a program on this machine while you write it')
    .addHelpText('after', '\nExample:\n  $ reelgate listen --forward http://127.0.0.1:4000/hook')
    .action((options: ListenOptions, command: Command) => run(command, (context) => listen(context, options)));
}

async function listen({ reelgate, output, interruptSignal }: CommandContext, options: ListenOptions): Promise<void> {
  const { formatWebhookSecret } = await importSignature();
  const { sleep } = await import('../../sdk/transport.ts');
  const secret = options.secret ?? formatWebhookSecret(crypto.getRandomValues(new Uint8Array(32)));
  const seen = new Set<string>();
  const startedAt = toSeconds(Date.now());
  for (const { id } of await readEvents(reelgate, startedAt - OVERLAP_SECONDS)) seen.add(id);
  output.notice(`Forwarding events to ${options.forward}, signed with ${secret}. Ctrl-C ends it.`);
  while (!interruptSignal.aborted) {
    const since = Math.max(startedAt - OVERLAP_SECONDS, toSeconds(Date.now()) - 2 * OVERLAP_SECONDS);
    for (const event of await readEvents(reelgate, since)) {
      if (seen.has(event.id)) continue;
      seen.add(event.id);
      const answer = await forward(event, options.forward, secret);
      output.result({ id: event.id, type: event.type, answer }, `${event.timestamp}  ${event.type}  ${answer}`);
    }
    await sleep(POLL_MS, interruptSignal).catch(() => {});
  }
  // Ctrl-C is the normal way to stop listening, so no error is printed.
  process.exitCode = EXIT.interrupted;
}

async function readEvents(reelgate: Reelgate, since: number): Promise<EventInfo[]> {
  const found: EventInfo[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await reelgate.webhooks.events({ since, limit: 100, after });
    found.push(...page.events);
    if (page.next === null) return found;
    after = page.next;
  }
}

/** Sends an event exactly as the service delivers it. @returns the status, or the reason why there is none */
async function forward({ id, ...payload }: EventInfo, url: string, secret: string): Promise<string> {
  const body = JSON.stringify(payload);
  const { signWebhook } = await importSignature();
  const signature = await signWebhook([secret], { id, timestamp: toSeconds(Date.now()), body });
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...signature },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    const { cause, message } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}

function parseHttpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError('Give a URL such as http://127.0.0.1:4000/hook.');
  return text;
}
