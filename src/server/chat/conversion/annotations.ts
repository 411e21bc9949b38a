import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { isBlank, listOf, textOf } from '../dialects.ts';
import { CountedText, citationsIn, type GivenCitation, MAX_CITATIONS, rangeOf } from './citations.ts';
import type { Citation, TextRange } from './neutral-form.ts';
import type { Block, ResponseBuilder } from './response-builder.ts';

interface EarlyCitation {
  readonly given: GivenCitation;
  readonly range: TextRange;
  readonly from: number;
}

const ANNOTATIONS = 'response.annotations';
const SOURCES = 'response.citations';
const RESULTS = 'response.search_results';

/**
 * Reads citations in the forms of upstreams that speak OpenAI's dialects: the annotations of a text, which count in
 * characters; and lists of sources next to the message, as Perplexity and xAI send them, many times in a stream.
 */
export class AnnotationReader {
  readonly #builder: ResponseBuilder;
  /** Annotations that arrived before their text. */
  #early: EarlyCitation[] = [];
  #sources: unknown;
  #results: unknown;

  constructor(builder: ResponseBuilder) {
    this.#builder = builder;
  }

  /** @param from the offset at which the annotated text starts */
  read(annotations: unknown, from = 0): void {
    const { dropped, said } = this.#builder;
    for (const annotation of citationsIn(annotations, ANNOTATIONS, dropped)) {
      const { type } = annotation;
      const nested = asObject(annotation.url_citation);
      const { url, title, content, start_index: start, end_index: end } = nested ?? annotation;
      // A citation of a file has no URL, and one without a type is a gateway's.
      if (nested === undefined && type !== 'url_citation' && type !== undefined) {
        dropped.drop(ANNOTATIONS);
        continue;
      }
      const given = { url, title, citedText: content };
      const range = rangeOf(start, end);
      const known = range && said.fromUnits(range, 'character', from);
      if (range === undefined || known !== undefined) this.#builder.cite({ ...given, range: known }, ANNOTATIONS);
      else if (this.#early.length < MAX_CITATIONS) this.#early.push({ given, range, from });
      else dropped.drop(ANNOTATIONS);
    }
  }

  /** Keeps the newest lists of sources of a body or an event. */
  keepSources({ citations, search_results: results }: UntrustedObject): void {
    if (!isBlank(citations)) this.#sources = citations;
    if (!isBlank(results)) this.#results = results;
  }

  /** Cites everything that needs the whole text. */
  finish(): void {
    const { said } = this.#builder;
    for (const { given, range, from } of this.#early)
      this.#builder.cite({ ...given, range: said.fromUnits(range, 'character', from) }, ANNOTATIONS);
    this.#early = [];
    const results = citationsIn(this.#results, RESULTS, this.#builder.dropped);
    const described = new Map(results.map((result) => [result.url, result]));
    if (!isBlank(this.#sources) && !Array.isArray(this.#sources)) this.#builder.dropped.drop(SOURCES);
    // The queue names those beyond the limit.
    for (const source of listOf(this.#sources).slice(0, MAX_CITATIONS + 1)) {
      const url = textOf(source) || textOf(asObject(source)?.url);
      const { title, snippet } = described.get(url) ?? asObject(source) ?? {};
      this.#builder.citeSource({ url, title, citedText: snippet }, SOURCES);
    }
    for (const { url, title, snippet } of results)
      this.#builder.citeSource({ url, title, citedText: snippet }, RESULTS);
  }
}

/** A citation in the form of OpenAI's annotations, which require a title and a range. */
export const toUrlCitation = ({ url, title }: Citation, { start, end }: TextRange) => ({
  url,
  title: title ?? url,
  start_index: start,
  end_index: end,
});

/** An annotation of a chat message, with OpenRouter's member for the words of the page; OpenAI has none for them. */
export const toChatAnnotation = (citation: Citation, range: TextRange): object => ({
  type: 'url_citation',
  url_citation: { ...toUrlCitation(citation, range), content: citation.citedText },
});

/**
 * The annotations of a chat message, which count from the start of its content.
 * @param toText the text of each block in the content
 */
export function toChatAnnotations(blocks: readonly Block[], toText: (block: Block) => string): object[] {
  const content = new CountedText();
  return blocks.flatMap((block) => {
    const start = content.length;
    content.add(toText(block));
    if (block.type !== 'text') return [];
    return block.citations.map((citation) => {
      const { range = { start: 0, end: block.text.length } } = citation;
      const placed = { start: start + range.start, end: start + range.end };
      return toChatAnnotation(citation, content.toUnits(placed, 'character'));
    });
  });
}
