import { isChatPrice, minimumVideoPrice } from '../../../contract/pricing.ts';
import { canDo, type UsableModel } from '../../data/models.ts';
import type en from '../../strings/en/model-notes.ts';
import { waysFor } from './inputs.ts';

type Family = keyof typeof en.families;

/**
 * Families of models in the order of the grid: the newest and most capable of each vendor first. The first match counts;
 * models that match none come last, without a description.
 */
const FAMILIES: readonly (readonly [pattern: RegExp, family: Family])[] = [
  [/^veo-?3\.1/, 'veo31'],
  [/^sora-2/, 'sora2'],
  [/^kling-v3/, 'kling3'],
  [/seedance-?2[-_]5/, 'seedance25'],
  [/^gen4\.5/, 'gen45'],
  [/^wan3/, 'wan3'],
  [/^MiniMax-H3|^hailuo3|^h3_max/, 'hailuo3'],
  [/^viduq3/, 'viduq3'],
  [/gemini[-_]omni/, 'omni'],
  [/^grok/, 'grok'],
  [/^happyhorse/, 'happyhorse'],
  [/seedance-?2/, 'seedance20'],
  [/^aleph/, 'aleph'],
  [/videoedit/, 'wanEdit'],
  [/^wan2\.[67]/, 'wan27'],
  [/^kling-video-o1/, 'klingO1'],
  [/^kling-v2-6/, 'kling26'],
  [/^MiniMax-Hailuo-2/, 'hailuo23'],
  [/^kling-v2/, 'kling2'],
  [/^veo/, 'veo3'],
  [/seedance-1/, 'seedance1'],
  [/^viduq/, 'viduq2'],
  [/^gen4/, 'gen4'],
  [/^jimeng.*recamera/, 'jimengCamera'],
  [/^jimeng/, 'jimeng'],
  [/^wan/, 'wan2'],
  [/^kling/, 'kling1'],
  [/^S2V/, 'hailuoSubject'],
  [/^MiniMax|^[IT]2V/, 'hailuo1'],
  [/^vidu/, 'vidu2'],
];

/** The family of a model, whose description it shares. */
export const familyOf = ({ id }: Pick<UsableModel, 'id'>): Family | undefined =>
  FAMILIES.find(([pattern]) => pattern.test(id))?.[1];

/** Place of a model's family in the curated order. */
export const rankOf = ({ id }: Pick<UsableModel, 'id'>): number => {
  const rank = FAMILIES.findIndex(([pattern]) => pattern.test(id));
  return rank < 0 ? FAMILIES.length : rank;
};

/** Capabilities to filter by, in the order of the filters. */
export const MODEL_TAGS = ['text', 'image', 'frames', 'references', 'sound', 'edit', 'extend', 'fast'] as const;
/** One of them. */
export type ModelTag = (typeof MODEL_TAGS)[number];

/** Tags of a model, derived from the inputs its vendor accepts. */
export function tagsOf(model: UsableModel): readonly ModelTag[] {
  const ways = waysFor(model, 'generate') ?? [];
  const takes = (role: string): boolean => ways.some(({ inputs }) => inputs.some((rule) => rule.role === role));
  const has: Readonly<Record<ModelTag, boolean>> = {
    text: ways.some(({ inputs }) => inputs.every(({ min }) => min === 0)),
    image: ways.some(({ inputs }) => inputs.some(({ type }) => type === 'image')),
    frames: takes('last_frame'),
    references: takes('reference'),
    sound: model.capability?.audio === true,
    edit: canDo(model, 'edit'),
    extend: canDo(model, 'extend'),
    fast: /fast|turbo|flash|lite|mini\b/i.test(model.id),
  };
  return MODEL_TAGS.filter((tag) => has[tag]);
}

/** Orders of the grid. */
export const MODEL_ORDERS = ['recommended', 'price'] as const;
/** One of them. */
export type ModelOrder = (typeof MODEL_ORDERS)[number];

/** Price of five seconds, for comparison only. */
const comparedPrice = ({ price }: UsableModel): number => (isChatPrice(price) ? 0 : minimumVideoPrice(price, 5));

/** Previews, faster variants and other vendors' offers of a model. */
const VARIANT = /preview|fast|flash|lite|mini\b|turbo|^dreamina|_|i2v|r2v|kf2v/i;

/** Sorts models: the main model of each family and then their variants, or the cheapest first. */
export function sortModels(models: readonly UsableModel[], order: ModelOrder): readonly UsableModel[] {
  if (order === 'price') return models.toSorted((one, other) => comparedPrice(one) - comparedPrice(other));
  const byRank = models.toSorted((one, other) => rankOf(one) - rankOf(other));
  const families = new Set<number>();
  const main = byRank.filter((model) => {
    if (VARIANT.test(model.id) || families.has(rankOf(model))) return false;
    families.add(rankOf(model));
    return true;
  });
  return [...main, ...byRank.filter((model) => !main.includes(model))];
}
