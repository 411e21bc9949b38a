import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { isBlank, listOf, textOf } from '../dialects.ts';
import { type CountedText, citationsIn, type GivenCitation, MAX_CITATIONS, rangeOf } from './citations.ts';
import { nameDropped, RESPONSE_MEMBERS } from './fields.ts';
import type { Citation, TextRange } from './neutral-form.ts';
import type { ResponseBuilder } from './response-builder.ts';

const GROUNDING = 'response.candidates.groundingMetadata';
const CITED = 'response.candidates.citationMetadata';

interface Support {
  readonly source: GivenCitation;
  readonly segment: UntrustedObject;
  /** Offset at which the part of the segment starts, if the upstream names the part. */
  readonly from: number | undefined;
  readonly path: string;
}

/** A page of a search, a page of the user's own data, or a place on a map. */
function toSource(chunk: UntrustedObject): GivenCitation {
  const { web, maps } = chunk;
  const { uri, title, text } = asObject(web ?? chunk.retrievedContext ?? chunk.retrieved_context ?? maps) ?? {};
  return { url: uri, title, citedText: web === undefined ? text : undefined };
}

/**
 * Reads Google's grounding metadata and its older citation metadata. Both count in bytes; they may arrive in any event
 * of a stream, the sources before the passages they support.
 */
export class GroundingReader {
  readonly #builder: ResponseBuilder;
  #chunks: readonly GivenCitation[] = [];
  /** Sources of all events. */
  readonly #sources: GivenCitation[] = [];
  readonly #supports: Support[] = [];

  constructor(builder: ResponseBuilder) {
    this.#builder = builder;
  }

  /** @param starts offsets of the parts of this event */
  read(candidate: UntrustedObject, starts: readonly (number | undefined)[]): void {
    const grounding = asObject(candidate.groundingMetadata ?? candidate.grounding_metadata);
    if (grounding !== undefined) this.#readGrounding(grounding, starts);
    const older = asObject(candidate.citationMetadata ?? candidate.citation_metadata);
    if (older !== undefined) this.#readCitations(older);
  }

  /** Cites the sources of all passages, then those of no passage in particular. */
  finish(): void {
    for (const { source, segment, from, path } of this.#supports)
      this.#builder.cite({ ...source, range: locate(this.#builder.said, segment, from) }, path);
    for (const source of this.#sources) this.#builder.citeSource(source, GROUNDING);
  }

  #readGrounding(grounding: UntrustedObject, starts: readonly (number | undefined)[]): void {
    const { dropped } = this.#builder;
    nameDropped(grounding, RESPONSE_MEMBERS.gemini.grounding, dropped, GROUNDING);
    const chunks = citationsIn(grounding.groundingChunks ?? grounding.grounding_chunks, GROUNDING, dropped);
    if (chunks.length > 0) this.#chunks = chunks.map(toSource);
    if (chunks.length > 0) this.#keep(this.#sources, this.#chunks);
    const supports = citationsIn(grounding.groundingSupports ?? grounding.grounding_supports, GROUNDING, dropped);
    for (const support of supports) {
      const segment = asObject(support.segment) ?? {};
      const part = segment.partIndex ?? segment.part_index;
      const from = typeof part === 'number' ? starts[part] : undefined;
      const indices = listOf(support.groundingChunkIndices ?? support.grounding_chunk_indices).slice(0, MAX_CITATIONS);
      const found = indices.flatMap((index) => (typeof index === 'number' ? (this.#chunks[index] ?? []) : []));
      if (found.length < indices.length || found.length === 0) dropped.drop(GROUNDING);
      this.#keep(
        this.#supports,
        found.map((source) => ({ source, segment, from, path: GROUNDING })),
      );
    }
  }

  #readCitations({ citations, citationSources, citation_sources: snake }: UntrustedObject): void {
    const { dropped } = this.#builder;
    for (const cited of citationsIn(citations ?? citationSources ?? snake, CITED, dropped)) {
      if (!isBlank(cited.license)) dropped.drop(`${CITED}.license`);
      const source = { url: cited.uri, title: cited.title };
      this.#keep(this.#supports, [{ source, segment: cited, from: undefined, path: CITED }]);
    }
  }

  #keep<Kept>(kept: Kept[], more: readonly Kept[]): void {
    const room = MAX_CITATIONS - kept.length;
    if (more.length > room) this.#builder.dropped.drop(GROUNDING);
    kept.push(...more.slice(0, room));
  }
}

/**
 * Finds a segment in the text. Google documents that it counts from the start of the segment's part, but it often leaves
 * out the number of the part, and a stream splits parts; the segment's own text decides.
 */
function locate(said: CountedText, segment: UntrustedObject, from: number | undefined): TextRange | undefined {
  const text = textOf(segment.text);
  const range = rangeOf(segment.startIndex ?? segment.start_index ?? 0, segment.endIndex ?? segment.end_index);
  for (const start of new Set([from ?? 0, 0])) {
    const known = range && said.fromUnits(range, 'byte', start);
    if (known !== undefined && (text === '' || said.slice(known) === text)) return known;
  }
  return text === '' ? undefined : said.find(text);
}

/** A citation of a text, whose range counts from the start of its part. */
export interface PartCitation {
  readonly citation: Citation;
  readonly text: CountedText;
  readonly range: TextRange | undefined;
  /** Number of the part; undefined in streams, where segments count from the start of the whole text. */
  readonly partIndex: number | undefined;
}

/** Writes grounding metadata, in which each page is listed once; undefined if nothing is cited. */
export function toGroundingMetadata(cited: readonly PartCitation[]): object | undefined {
  if (cited.length === 0) return undefined;
  const pages = [...new Map(cited.map(({ citation: { url, title } }) => [url, { uri: url, title: title ?? url }]))];
  const numbers = new Map(pages.map(([url], index) => [url, index]));
  const supports = new Map<string, { segment: object; groundingChunkIndices: number[] }>();
  for (const { citation, text, range, partIndex } of cited) {
    if (range === undefined) continue;
    const key = `${partIndex} ${range.start} ${range.end}`;
    const support = supports.get(key) ?? { segment: toSegment(text, range, partIndex), groundingChunkIndices: [] };
    const number = numbers.get(citation.url) ?? 0;
    if (!support.groundingChunkIndices.includes(number)) support.groundingChunkIndices.push(number);
    supports.set(key, support);
  }
  return {
    groundingChunks: pages.map(([, web]) => ({ web })),
    groundingSupports: supports.size === 0 ? undefined : [...supports.values()],
  };
}

function toSegment(text: CountedText, range: TextRange, partIndex: number | undefined): object {
  const { start, end } = text.toUnits(range, 'byte');
  return { partIndex, startIndex: start, endIndex: end, text: text.slice(range) };
}
