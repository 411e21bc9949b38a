import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { type ChatAnswer, type ChatMessage, ReelgateError } from '../../sdk/index.ts';
import { UsageError } from '../failures.ts';
import type { RunCommand } from '../run.ts';
import type { Session } from '../session.ts';

interface ChatOptions {
  readonly model: string;
  readonly system?: string;
  readonly image: readonly string[];
  readonly maxTokens?: number;
  readonly stream: boolean;
}

/** `reelgate chat` */
export function addChatCommand(program: Command, run: RunCommand): void {
  program
    .command('chat')
    .argument('[question]', 'what to ask; "-" or left out: from standard input, or a conversation on a terminal')
    .requiredOption('-m, --model <id>', 'the model; see "reelgate models"')
    .option('-s, --system <text>', 'instructions for the model')
    .option('-i, --image <file or URL>', 'a picture to look at; repeatable', collect, [])
    .option('--max-tokens <n>', 'longest answer', wholeNumber)
    .option('--no-stream', 'wait for the whole answer')
    .description('Ask a language model')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate chat "Name three rivers" --model gpt-5-mini
  $ reelgate chat --model gpt-5-mini < letter.txt > answer.txt
  $ reelgate chat "What is on it?" --model gpt-5-mini --image photo.jpg`,
    )
    .action((question: string | undefined, options: ChatOptions, command: Command) =>
      run(command, async (session) => {
        const isPerson = process.stdin.isTTY === true && session.output.isWatched;
        if (question === undefined && isPerson) return converse(session, options);
        const text = question === undefined || question === '-' ? await readAll(process.stdin) : question;
        if (text.trim() === '') throw new UsageError('There is no question. Give one, or write it to standard input.');
        await answer(session, options, [...opening(options), await toMessage(text, options.image)]);
      }),
    );
}

const collect = (value: string, list: readonly string[]): readonly string[] => [...list, value];
const wholeNumber = (text: string): number => {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  return Number(text);
};

const opening = ({ system }: ChatOptions): readonly ChatMessage[] =>
  system === undefined ? [] : [{ role: 'system', content: system }];

/** Question by question, the model remembering what was said, until Ctrl-D. */
async function converse(session: Session, options: ChatOptions): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  session.output.say(`Talking to ${options.model}. Ctrl-D ends it.`);
  const said: ChatMessage[] = [...opening(options)];
  let { image } = options;
  try {
    for (;;) {
      const ended = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
      const question = await Promise.race([lines.question('> '), ended]);
      if (question === undefined) return;
      if (question.trim() === '') continue;
      said.push(await toMessage(question, image));
      image = [];
      try {
        const { content } = await answer(session, options, said);
        said.push({ role: 'assistant', content });
      } catch (error) {
        // What was said so far is not lost by one question that fails.
        if (!(error instanceof ReelgateError)) throw error;
        said.pop();
        session.output.ask(`Error: ${error.message}`);
      }
    }
  } finally {
    lines.close();
  }
}

async function answer(session: Session, options: ChatOptions, messages: readonly ChatMessage[]): Promise<ChatAnswer> {
  const { reelgate, output, interrupted: signal } = session;
  const { model, maxTokens, stream } = options;
  const request = { model, messages, ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }) };
  if (!stream) {
    const whole = await reelgate.chat.complete(request, { signal });
    output.result(toDocument(model, whole), whole.content);
    tellUse(session, whole);
    return whole;
  }
  const pieces = reelgate.chat.stream(request, { signal });
  try {
    for (;;) {
      const { done, value } = await pieces.next();
      if (done) {
        output.endPieces(toDocument(model, value));
        tellUse(session, value);
        return value;
      }
      output.piece(value);
    }
  } catch (error) {
    output.endPieces();
    throw error;
  }
}

const toDocument = (model: string, { content, finishReason, usage }: ChatAnswer) => ({
  model,
  content,
  finish_reason: finishReason,
  usage: usage ?? null,
});

function tellUse({ output }: Session, { usage, finishReason }: ChatAnswer): void {
  if (finishReason === 'length') output.say('The answer was cut at its longest length.');
  if (output.isWatched && usage !== undefined)
    output.say(`${usage.prompt_tokens} tokens asked, ${usage.completion_tokens} answered`);
}

async function toMessage(text: string, images: readonly string[]): Promise<ChatMessage> {
  if (images.length === 0) return { role: 'user', content: text };
  const pictures = await Promise.all(images.map(toAddress));
  return {
    role: 'user',
    content: [{ type: 'text', text }, ...pictures.map((url) => ({ type: 'image_url', image_url: { url } }))],
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.gif': 'image/gif',
};

/** An address goes as it is, a file as a data URL. */
async function toAddress(image: string): Promise<string> {
  if (/^(https?|data):/i.test(image)) return image;
  const type = TYPES[extname(image).toLowerCase()];
  if (type === undefined) throw new UsageError(`${image} is no picture a model can look at: PNG, JPEG, WebP or GIF.`);
  return `data:${type};base64,${(await readFile(image)).toString('base64')}`;
}
