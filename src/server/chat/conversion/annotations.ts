import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { isBlank, listOf, textOf } from '../dialects.ts';
import { CitedTexts, CountedText, citationsIn, type GivenCitation, MAX_CITATIONS, rangeOf } from './citations.ts';
import type { Citation, ResponseEvent, TextRange } from './neutral-form.ts';
import { isImage, type ResponseBuilder, toMarkdown } from './response-builder.ts';

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

/**
 * The annotations of a chat message, collected from the events of its response. They count from the start of the content
 * that all texts are joined to.
 */
export class ChatAnnotations {
  readonly list: object[] = [];
  readonly #content = new CountedText();
  /** Texts by the offset in the content at which they start. */
  readonly #texts = new CitedTexts<number>();
  #start = 0;

  add(event: ResponseEvent): void {
    if (event.type === 'text') {
      this.#content.add(event.text);
      this.#texts.add(this.#start, event.text);
    } else if (event.type === 'media' && !isImage(event.media)) {
      this.#content.add(toMarkdown(event.media));
      this.#start = this.#content.length;
    } else if (event.type === 'citation') this.#cite(event.citation);
  }

  /** OpenRouter's form has a member for the words of the page, OpenAI's own has none. */
  #cite(citation: Citation): void {
    const located = this.#texts.locate(citation);
    if (located === undefined) return;
    const { place, span } = located;
    const range = this.#content.toUnits({ start: place + span.start, end: place + span.end }, 'character');
    const cited = { ...toUrlCitation(citation, range), content: citation.citedText };
    this.list.push({ type: 'url_citation', url_citation: cited });
  }
}
