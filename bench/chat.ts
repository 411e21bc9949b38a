import { portkeyHeaders, startPortkey } from './rivals/portkey.ts';
import { type Process, portOf, startScript } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { median, spreadOf } from './support/quantile.ts';
import { postBytes, type RawLoadResult, rawLoad, trickle } from './support/raw-socket-load.ts';
import { type Figure, reportFigure } from './support/report-figure.ts';
import { BOTH_DIALECTS, QUESTION, startChatService } from './support/start-chat-service.ts';
import { startNginx, startNginxProxy } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Relays a chat completion of about 600 bytes through Reelgate and through other gateways, alternating in one run.
 * Reelgate includes key check, durable reservation, settlement and usage record (SQLite, synchronous=FULL); the others
 * do none of that. The upstream is nginx, which responds immediately. "To Anthropic" is the same question to an
 * upstream that speaks Anthropic's Messages.
 *
 * Run `cd bench && npm ci && cd .. && node bench/chat.ts`; needs nginx. `SECONDS` and `ROUNDS` change the length,
 * `SUBJECTS='bare Node proxy;Reelgate'` measures only those.
 */
const SECONDS = Number(process.env.SECONDS ?? '4');
const ROUNDS = Number(process.env.ROUNDS ?? '5');
const CONNECTIONS = 64;
/** Load before each measured window; calls in another dialect make V8 recompile what they share. */
const LEAD_IN_SECONDS = SECONDS * 2;
const PATH = '/v1/chat/completions';

const CHAT_BODY = JSON.stringify({ model: 'bench-chat', messages: QUESTION });
const CLAUDE_BODY = JSON.stringify({ model: 'bench-claude', max_tokens: 500, messages: QUESTION });
const RESPONSES_BODY = JSON.stringify({ model: 'bench-chat', max_output_tokens: 500, input: QUESTION });
const MESSAGES_BODY = JSON.stringify({ model: 'bench-chat', max_tokens: 500, messages: QUESTION });

interface Subject {
  readonly name: string;
  readonly process: Process & { readonly port: number };
  readonly request: Buffer;
}

const withPort = (process: Process) => ({ ...process, port: portOf(process) });

const upstream = await startNginx(BOTH_DIALECTS);
const { service, key } = await startChatService(4_380, upstream.origin);
const portkey = await startPortkey();
const plain = postBytes(PATH, { authorization: 'Bearer sk-bench' }, CHAT_BODY);
const ask = (path: string, body: string): Buffer => postBytes(path, { authorization: `Bearer ${key}` }, body);
const known: Subject[] = [
  { name: 'direct', process: upstream, request: plain },
  { name: 'nginx, 1 worker', process: await startNginxProxy(upstream.port), request: plain },
  {
    name: 'bare Node proxy',
    process: withPort(await startScript('bench/rivals/bare-proxy.ts', { UPSTREAM: upstream.origin })),
    request: plain,
  },
  {
    name: 'Reelgate',
    process: withPort(service),
    request: ask(PATH, CHAT_BODY),
  },
  { name: 'Reelgate, to Anthropic', process: withPort(service), request: ask(PATH, CLAUDE_BODY) },
  { name: 'Reelgate, Messages to chat', process: withPort(service), request: ask('/v1/messages', MESSAGES_BODY) },
  {
    name: 'Reelgate, Responses to chat',
    process: withPort(service),
    request: ask('/v1/responses', RESPONSES_BODY),
  },
  { name: 'Reelgate, Messages', process: withPort(service), request: ask('/v1/messages', CLAUDE_BODY) },
  ...(portkey === undefined
    ? []
    : [
        {
          name: 'Portkey',
          process: portkey,
          request: postBytes(PATH, { authorization: 'Bearer sk-bench', ...portkeyHeaders(upstream.origin) }, CHAT_BODY),
        },
        {
          name: 'Portkey, to Anthropic',
          process: portkey,
          request: postBytes(
            PATH,
            { authorization: 'Bearer sk-bench', ...portkeyHeaders(upstream.origin, 'anthropic') },
            CLAUDE_BODY,
          ),
        },
      ]),
];
const asked = process.env.SUBJECTS?.split(';');
const subjects = known.filter(({ name }) => asked?.includes(name) ?? true);

interface Figures {
  readonly perSecond: number[];
  readonly cpuUs: number[];
  readonly p99Us: number[];
  readonly aloneUs: number[];
  failures: number;
  firstFailure: string | undefined;
}

const all = new Map<string, Figures>();
const trickles = subjects.map(({ process: { port }, request }) => trickle(port, request));
try {
  for (const subject of subjects) {
    const windows = await warmUp(async () => (await loadOf(subject)).cpuUs);
    process.stdout.write(`${subject.name}: warm after ${windows} windows of ${SECONDS} s\n`);
  }
  for (let round = 1; round <= ROUNDS; round++)
    for (const subject of subjects) {
      const {
        process: { port },
        request,
      } = subject;
      await rawLoad({ port, connections: CONNECTIONS, seconds: LEAD_IN_SECONDS, request });
      const { many, cpuUs } = await loadOf(subject);
      note(subject.name, many, cpuUs, await rawLoad({ port, connections: 1, seconds: SECONDS / 2, request }));
    }
  print();
  report();
} finally {
  for (const stop of trickles) stop();
  await Promise.all(known.map(({ process }) => process.stop()));
}

/** Runs one window of load and measures the subject's CPU time per request. */
async function loadOf({ process: { pid, port }, request }: Subject) {
  const before = cpuSeconds(pid);
  const many = await rawLoad({ port, connections: CONNECTIONS, seconds: SECONDS, request });
  return { many, cpuUs: ((cpuSeconds(pid) - before) / many.requests) * 1e6 };
}

type Measure = 'cpuUs' | 'perSecond' | 'aloneUs';

/** Compares a subject with a peer round by round; reports nothing unless both were measured. */
function compare(
  [name, peerName]: readonly [string, string],
  of: Measure,
  figure: Pick<Figure, 'subject' | 'unit' | 'asked' | 'peer'>,
  combine: (value: number, peer: number) => number = (value, peer) => value / peer,
): void {
  const [subject, peer] = [all.get(name), all.get(peerName)];
  if (subject === undefined || peer === undefined) return;
  const rounds = subject[of].map((value, round) => combine(value, peer[of][round] ?? Number.NaN));
  reportFigure({ ...figure, measured: median(rounds), spread: spreadOf(rounds) });
}

function report(): void {
  for (const name of ['nginx, 1 worker', 'bare Node proxy', 'Reelgate', 'Reelgate, to Anthropic', 'Portkey']) {
    const measured = all.get(name);
    if (measured === undefined) continue;
    reportFigure({ subject: `model calls, ${name}: rate`, unit: '/s', measured: median(measured.perSecond) });
    reportFigure({ subject: `model call, ${name}: CPU`, unit: 'µs', measured: median(measured.cpuUs) });
    reportFigure({ subject: `model call, ${name}: p50 alone`, unit: 'µs', measured: median(measured.aloneUs) });
  }
  const bare = { unit: '×', peer: 'bare Node proxy' };
  const ours = ['Reelgate', 'bare Node proxy'] as const;
  compare(ours, 'cpuUs', { ...bare, subject: 'model call on SQLite, CPU', asked: 2.2 });
  compare(ours, 'perSecond', { ...bare, subject: 'model calls on SQLite, rate', asked: 0.45 });
  compare(['Reelgate', 'Portkey'], 'perSecond', {
    subject: 'model calls on SQLite, rate beside Portkey',
    unit: '×',
    asked: 5,
    peer: 'Portkey',
  });
  compare(
    ours,
    'aloneUs',
    { subject: 'lone model call on SQLite, p50 added', unit: 'µs', asked: 300, peer: 'bare Node proxy' },
    (value, peer) => value - peer,
  );
  for (const pair of ['to Anthropic', 'Messages to chat', 'Responses to chat'])
    compare([`Reelgate, ${pair}`, 'Reelgate'], 'cpuUs', {
      subject: `converted model call, ${pair}: CPU`,
      unit: '×',
      asked: 1.3,
      peer: 'unconverted',
    });
}

function note(name: string, many: RawLoadResult, cpuUs: number, alone: RawLoadResult): void {
  const figures = all.get(name) ?? {
    perSecond: [],
    cpuUs: [],
    p99Us: [],
    aloneUs: [],
    failures: 0,
    firstFailure: undefined,
  };
  all.set(name, figures);
  figures.perSecond.push(many.perSecond);
  figures.cpuUs.push(cpuUs);
  figures.p99Us.push(many.p99Us);
  figures.aloneUs.push(alone.p50Us);
  figures.failures += many.failures + alone.failures;
  figures.firstFailure ??= many.firstFailure ?? alone.firstFailure;
}

function print(): void {
  const write = (cells: readonly string[]): void =>
    void process.stdout.write(`| ${cells.map((cell) => cell.padEnd(27)).join(' | ')} |\n`);
  write(['subject', 'requests/s', 'CPU µs/request', 'p99 ms', 'p50 alone µs', 'memory MB', 'failures']);
  write(Array<string>(7).fill('---'));
  for (const {
    name,
    process: { pid },
  } of subjects) {
    const figures = all.get(name);
    if (figures === undefined) continue;
    write([
      name,
      median(figures.perSecond).toFixed(0),
      median(figures.cpuUs).toFixed(0),
      (median(figures.p99Us) / 1_000).toFixed(1),
      median(figures.aloneUs).toFixed(0),
      String(memoryMb(pid)),
      `${figures.failures} ${figures.firstFailure ?? ''}`,
    ]);
  }
}
