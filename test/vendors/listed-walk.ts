import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { type Body, type ListedModel, productOf, type Uploads, unlistedBodies, waysOf } from './listed-requests.ts';
import { type ListedService, send } from './listed-service.ts';

/** Result of a walk; `problems` is empty if everything was answered as listed. */
export interface ListedWalk {
  /** Listed combinations, and requests beyond them, by vendor. */
  readonly counts: Readonly<Record<string, { readonly accepted: number; readonly refused: number }>>;
  /** Sum of the quotes; undefined as long as a problem is open. */
  readonly quoted: number;
  readonly reserved: number;
  readonly problems: readonly string[];
}

type CallingService = Pick<ListedService, 'caller' | 'uploads'>;

/** Enough to keep service and simulators busy while commits are written. */
const IN_FLIGHT = 16;
/** Requests beyond the list of each model, where only a sample is sent. */
const MAX_UNLISTED = 8;

const adapterOf = (vendor: string) => VENDOR_ADAPTERS.find(({ name }) => name === vendor);

/** Upstreams of a passed-through format may offer other lengths, sizes and modes than the vendor did. */
const isOpen = (vendor: string) => adapterOf(vendor)?.passthrough === true;

/** Requests that a model does not list, with the fields errors must name, in random order. */
export const unlistedOf = (model: ListedModel, uploads: Uploads, random: () => number): (readonly [Body, RegExp])[] =>
  [...unlistedBodies(model, uploads, adapterOf(model.vendor)?.formFields.ratio)]
    .filter(([, param]) => !isOpen(model.vendor) || param.test('inputs'))
    .map((each) => [random(), each] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, each]) => each);

/** All listed combinations of a model. @param isWhole false: a sample of each way */
function* combinationsOf(model: ListedModel, uploads: Uploads, isWhole: boolean): Generator<Body> {
  const product = { ratioField: adapterOf(model.vendor)?.formFields.ratio, isWhole };
  for (const way of waysOf(model)) yield* productOf(model, way, uploads, product);
}

/** Divides models into shares with about as many combinations each. */
export function sharesOf(models: readonly ListedModel[], uploads: Uploads, count: number): readonly ListedModel[][] {
  const shares = Array.from({ length: count }, () => ({ models: [] as ListedModel[], size: 0 }));
  const sized = models.map((model) => ({ model, size: [...combinationsOf(model, uploads, true)].length }));
  for (const { model, size } of sized.toSorted((one, other) => other.size - one.size)) {
    const smallest = shares.reduce((one, other) => (other.size < one.size ? other : one));
    smallest.models.push(model);
    smallest.size += size;
  }
  return shares.map(({ models: own }) => own);
}

/** Quotes and submits a listed request. @returns the quote */
export async function accept(
  { caller }: CallingService,
  body: Body,
  problems: string[],
  { receipt: isShown = false } = {},
): Promise<number> {
  const quote = await send(caller, '/v1/videos/quote', body);
  const submit = await send(caller, '/v1/videos', body);
  if (isShown && submit.status === 200) {
    const id = String(submit.answer.id ?? submit.answer.task_id);
    const { body: receipt } = await caller.request('GET', `/v1/videos/${id}/receipt`);
    if (receipt.reserved !== quote.answer.quota) problems.push(`${id}: ${receipt.reserved}, ${quote.answer.quota}`);
  }
  if (quote.status === 200 && submit.status === 200) return Number(quote.answer.quota);
  const answers = `${quote.status} ${quote.message}, ${submit.status} ${submit.message}`;
  problems.push(`${answers.slice(0, 400)}: ${JSON.stringify(body)}`);
  return 0;
}

/** Sends a request that is not listed. @param param the field that the error must name */
export async function refuse(
  { caller }: CallingService,
  [body, param]: readonly [Body, RegExp],
  problems: string[],
  path: '/v1/videos' | '/v1/videos/quote' = '/v1/videos',
): Promise<void> {
  const { status, message, param: named } = await send(caller, path, body);
  if (status !== 400 || !param.test(named))
    problems.push(`${path} ${status} ${named} ${message.slice(0, 300)}: ${JSON.stringify(body)}`);
}

/** Works on all items, several at a time. */
async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = Iterator.from(items);
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

/**
 * Sends what models list, which must be quoted, reserved at that price and accepted, and what they do not list, which
 * must be refused.
 */
export async function walkListed(
  service: Pick<ListedService, 'caller' | 'uploads' | 'balance'>,
  models: readonly ListedModel[],
  { random, isWhole }: { readonly random: () => number; readonly isWhole: boolean },
): Promise<ListedWalk> {
  const problems: string[] = [];
  const counts: Record<string, { accepted: number; refused: number }> = {};
  const before = await service.balance();
  let quoted = 0;
  for (const model of models) {
    counts[model.vendor] ??= { accepted: 0, refused: 0 };
    const count = counts[model.vendor] as { accepted: number; refused: number };
    await inParallel(combinationsOf(model, service.uploads, isWhole), async (body) => {
      const quota = await accept(service, body, problems);
      quoted += quota;
      count.accepted += 1;
    });
    const beyond = unlistedOf(model, service.uploads, random).slice(0, isWhole ? undefined : MAX_UNLISTED);
    await inParallel(beyond.entries(), async ([index, each]) => {
      await refuse(service, each, problems, index % 5 === 0 ? '/v1/videos/quote' : '/v1/videos');
      count.refused += 1;
    });
  }
  return { counts, quoted, reserved: before - (await service.balance()), problems };
}
