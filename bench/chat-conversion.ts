import { type Codec, findCodec, ResponseConversion } from '../src/server/chat/conversion/convert.ts';
import { DroppedFields } from '../src/server/chat/conversion/fields.ts';
import type { ResponseEvent } from '../src/server/chat/conversion/neutral-form.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../src/server/chat/dialects.ts';
import { splitEvents } from '../src/server/chat/event-stream.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Cost of a conversion on top of relaying the same call unconverted: CPU time of this process for the request and the
 * complete response of a call, and for one stream event, for each pair of dialects. Measured in process; bench/chat.ts
 * measures the relay itself.
 *
 * Run `node bench/chat-conversion.ts`; `ROUNDS` changes the length.
 */
const ROUNDS = Number(process.env.ROUNDS ?? '20000');
const EVENTS = 50;
const DIALECTS: Readonly<Record<string, Dialect>> = {
  chat: CHAT_DIALECT,
  responses: RESPONSES_DIALECT,
  messages: ANTHROPIC_MESSAGES_DIALECT,
  gemini: GEMINI_DIALECT,
};
const UPSTREAMS: readonly string[] = ['chat', 'messages', 'gemini'];
const TARGET = { model: 'bench-chat', maxTokens: 500, maxTokensKey: 'max_tokens', stream: false };
const CONTEXT = { id: 'bench', model: 'bench-chat', created: 1, wantsUsage: true, asked: {}, origins: new Map() };
const USAGE = { promptTokens: 32, completionTokens: 72, reasoningTokens: 0 };

const codecOf = (name: string): Codec => {
  const codec = findCodec(DIALECTS[name] ?? CHAT_DIALECT);
  if (codec === undefined) throw new Error(`${name} is not converted`);
  return codec;
};

/** The same question in each dialect. */
const questionIn = (name: string): Record<string, unknown> => {
  const conversation = codecOf('chat').readRequest(
    {
      model: 'bench-chat',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Say a few words about the sea, '.repeat(4) },
      ],
    },
    new DroppedFields(),
  );
  const [key = ''] = DIALECTS[name]?.maxTokensKeys ?? [];
  const target = { ...TARGET, maxTokensKey: key };
  return JSON.parse(JSON.stringify(codecOf(name).writeRequest(conversation, target, new DroppedFields())));
};

const EVENTS_OF_ANSWER: readonly ResponseEvent[] = [
  { type: 'start', id: 'x' },
  ...Array.from({ length: EVENTS }, (): ResponseEvent => ({ type: 'text', text: 'word ' })),
  { type: 'end', reason: 'end', stopSequence: undefined, usage: USAGE },
];

/** CPU time of one run in microseconds, the median of five. */
function measure(work: () => unknown): number {
  for (let round = 0; round < ROUNDS / 10; round++) work();
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let round = 0; round < ROUNDS / 5; round++) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (ROUNDS / 5);
  });
  return times.sort((a, b) => a - b)[2] ?? 0;
}

const perCall: number[] = [];
const perEvent: number[] = [];
const row = (cells: readonly string[]): void =>
  void process.stdout.write(`| ${cells.map((each) => each.padEnd(24)).join(' | ')} |\n`);
row(['caller → upstream', 'µs CPU/call', 'µs CPU/event']);
row(['---', '---', '---']);
for (const asked of Object.keys(DIALECTS))
  for (const spoken of UPSTREAMS) {
    if (asked === spoken) continue;
    const [source, target] = [codecOf(asked), codecOf(spoken)];
    const question = questionIn(asked);
    const answer = Buffer.from(JSON.stringify(target.writeResponse(EVENTS_OF_ANSWER, CONTEXT)));
    const writer = target.createWriter(CONTEXT);
    const events = splitEvents(EVENTS_OF_ANSWER.map((event) => writer.write(event)).join('')).map((event) =>
      Buffer.from(event),
    );
    const call = measure(() => {
      const notes = new DroppedFields();
      JSON.stringify(target.writeRequest(source.readRequest(question, notes), TARGET, notes));
      new ResponseConversion(target, source, CONTEXT).convert(answer);
    });
    const stream = measure(() => {
      const conversion = new ResponseConversion(target, source, CONTEXT);
      for (const event of events) conversion.push(event);
      conversion.finish();
    });
    perCall.push(call);
    perEvent.push(stream / events.length);
    row([`${asked} → ${spoken}`, call.toFixed(1), (stream / events.length).toFixed(2)]);
  }
reportFigure({
  subject: 'conversion between dialects, the most per call',
  unit: 'µs',
  measured: Math.max(...perCall),
  asked: 25,
});
reportFigure({
  subject: 'conversion between dialects, the most per event',
  unit: 'µs',
  measured: Math.max(...perEvent),
  asked: 4,
});
