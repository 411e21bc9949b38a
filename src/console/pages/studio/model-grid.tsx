import { ActionIcon, Combobox, Group, Pill, Stack, Text, TextInput, useCombobox } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconCheck, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isChatPrice, minimumVideoPrice } from '../../../contract/pricing.ts';
import { TASK_STATUS } from '../../../contract/task-states.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { HoverClip } from '../../components/video-player.tsx';
import { formatEstimate } from '../../data/format-values.ts';
import { canDo, modelTitle, type UsableModel, useStatus } from '../../data/self.ts';
import { durationsQuery, type Video, videosQuery } from '../../data/videos.ts';
import type en from '../../strings/en/videos.ts';
import { controlsFor, type Draft, type DurationRange } from './draft.ts';
import { SAMPLE_SCENES, SampleClip } from './ideas.tsx';
import { useInputTexts } from './input-texts.ts';
import { waysFor } from './inputs.ts';
import { type PickedModels, readPickedModels, useModelPrice } from './models.ts';

interface ModelGridProps {
  readonly title: string;
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly selected: readonly string[];
  readonly onSelect: (model: UsableModel) => void;
  readonly onClose: () => void;
}

/**
 * All models as cards, with price for the current settings and usual duration: favourites and recent models first, then
 * the others in a curated order; searchable, and filtered by what they can do.
 */
export default function ModelGrid({ title, models, draft, selected, onSelect, onClose }: ModelGridProps) {
  const { t } = useTranslation(['studio', 'videos']);
  const [search, setSearch] = useState('');
  const [wanted, setWanted] = useState<readonly ModelTag[]>([]);
  const [order, setOrder] = useState<ModelOrder>('recommended');
  const [marks] = useState(readPickedModels);
  const samples = useSamples();
  // Always open: Escape closes the dialog instead of the combobox.
  const combobox = useCombobox({ opened: true, onOpenedChange: (opened) => (opened ? undefined : onClose()) });
  const found = models.filter((model) => {
    const tags = tagsOf(model);
    return matchesSearch(model, search) && wanted.every((tag) => tags.includes(tag));
  });
  const sorted = sortModels(found, order);
  const groups = groupModels(sorted, order === 'price' ? { favourites: [], recent: [] } : marks, {
    favourites: t('favourites'),
    recent: t('recentModels'),
    all: t('allModels'),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first of what was found can be taken with Enter
  useEffect(() => {
    if (search === '') combobox.resetSelectedOption();
    else combobox.selectFirstOption();
  }, [search]);
  const select = (id: string): void => {
    const model = models.find((each) => each.id === id);
    if (model !== undefined) onSelect(model);
  };
  return (
    <Dialog onClose={onClose} title={title} size={1120}>
      <Combobox store={combobox} onOptionSubmit={select}>
        <Stack gap="sm">
          <Combobox.EventsTarget>
            <TextInput
              data-autofocus
              aria-label={t('modelSearch')}
              placeholder={t('modelSearch')}
              leftSection={<IconSearch size={16} />}
              value={search}
              onChange={(event) => setSearch(event.currentTarget.value)}
            />
          </Combobox.EventsTarget>
          <Filters models={models} wanted={wanted} onWanted={setWanted} order={order} onOrder={setOrder} />
          <Combobox.Options className="model-grid" aria-label={title} tabIndex={0}>
            {groups.map(({ label, members }) => (
              <Combobox.Group key={label} label={label}>
                {members.map((model) => (
                  <ModelOption
                    key={model.id}
                    model={model}
                    draft={draft}
                    active={selected.includes(model.id)}
                    sample={samples.get(model.id)}
                  />
                ))}
              </Combobox.Group>
            ))}
            {found.length === 0 ? (
              <Combobox.Empty>
                {wanted.length === 0 ? t('noModelFound', { search }) : t('videos:modelNotes.none')}
              </Combobox.Empty>
            ) : null}
          </Combobox.Options>
          <Text size="xs" c="dimmed">
            {t('modelPriceHint')}
          </Text>
        </Stack>
      </Combobox>
    </Dialog>
  );
}

/** The newest finished video of each model of the account, which shows what the model does better than any text. */
function useSamples(): ReadonlyMap<string, Video> {
  const { data } = useQuery(videosQuery(1, SAMPLED_VIDEOS, { status: TASK_STATUS.SUCCESS }));
  return new Map(data?.data.filter(({ poster_url }) => poster_url !== '').map((video) => [video.model, video]));
}

const SAMPLED_VIDEOS = 96;

interface FiltersProps {
  readonly models: readonly UsableModel[];
  readonly wanted: readonly ModelTag[];
  readonly onWanted: (wanted: readonly ModelTag[]) => void;
  readonly order: ModelOrder;
  readonly onOrder: (order: ModelOrder) => void;
}

/** Toggles for what a model must be able to do, and the order. */
function Filters({ models, wanted, onWanted, order, onOrder }: FiltersProps) {
  const { t } = useTranslation('videos');
  const offered = MODEL_TAGS.filter((tag) => models.some((model) => tagsOf(model).includes(tag)));
  return (
    <fieldset className="chips model-filters" aria-label={t('modelNotes.filter')}>
      {offered.map((tag) => (
        <button
          key={tag}
          type="button"
          className="chip"
          aria-pressed={wanted.includes(tag)}
          onClick={() => onWanted(wanted.includes(tag) ? wanted.filter((each) => each !== tag) : [...wanted, tag])}
        >
          {t(`modelNotes.tags.${tag}`)}
        </button>
      ))}
      <SegmentedControl
        size="xs"
        aria-label={t('modelNotes.order')}
        data={MODEL_ORDERS.map((value) => ({ value, label: t(`modelNotes.orders.${value}`) }))}
        value={order}
        onChange={onOrder}
      />
    </fieldset>
  );
}

interface ModelGroup {
  readonly label: string;
  readonly members: readonly UsableModel[];
}

/** Groups models: favourites, recent ones, all others; each model is in one group. */
function groupModels(
  models: readonly UsableModel[],
  marks: PickedModels,
  labels: Readonly<Record<'favourites' | 'recent' | 'all', string>>,
): readonly ModelGroup[] {
  const pick = (ids: readonly string[]) => ids.flatMap((id) => models.find((model) => model.id === id) ?? []);
  const favourites = pick(marks.favourites);
  const recent = pick(marks.recent.filter((id) => !marks.favourites.includes(id)));
  return [
    { label: labels.favourites, members: favourites },
    { label: labels.recent, members: recent },
    { label: labels.all, members: models.filter((each) => !favourites.includes(each) && !recent.includes(each)) },
  ].filter(({ members }) => members.length > 0);
}

/** Whether the vendor's name, the model's title or its id together contain every word of the search. */
function matchesSearch(model: UsableModel, search: string): boolean {
  const text = `${model.vendor_title} ${model.capability?.title ?? ''} ${modelTitle(model)} ${model.id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface ModelOptionProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly active: boolean;
  readonly sample: Video | undefined;
}

/**
 * One card: a sample, name, description (to edit or extend: the inputs), tags, price for the current settings, usual
 * duration. Models outside the plan cannot be selected.
 */
function ModelOption({ model, draft, active, sample }: ModelOptionProps) {
  const { t } = useTranslation(['studio', 'videos']);
  const can = controlsFor(model, { ...draft, inputs: [], resolution: '' });
  const texts = useInputTexts();
  const takes = texts.takes(waysFor(model, draft.operation) ?? []);
  const durations = useQuery(durationsQuery);
  const measured = durations.data?.find((each) => each.model === model.id);
  const family = familyOf(model);
  // Real models are never presented by pictures they did not generate.
  const isSandbox = useStatus().data?.sandbox === true;
  return (
    <Combobox.Option value={model.id} disabled={!model.permitted} active={active} aria-selected={active}>
      <div className="model-sample" data-vendor={model.vendor}>
        {sample === undefined && isSandbox ? (
          <SampleClip scene={sceneOf(model)} look={lookOf(model)} />
        ) : sample === undefined ? (
          <span aria-hidden>{model.vendor_title}</span>
        ) : (
          <HoverClip video={sample} fallback={model.vendor_title} />
        )}
        {active ? <IconCheck size={18} className="model-check" aria-hidden /> : null}
      </div>
      <div className="model-card">
        <Text size="sm" fw={600} component="div" title={model.id} style={{ overflowWrap: 'anywhere' }}>
          {modelTitle(model)}
        </Text>
        <Text size="xs" c="dimmed" lineClamp={2} title={takes}>
          {family === undefined || draft.operation !== 'generate'
            ? takes || t('takesText')
            : t(`videos:modelNotes.families.${family}`)}
        </Text>
        <div className="model-tags">
          {tagsOf(model).map((tag) => (
            <span key={tag}>{t(`videos:modelNotes.tags.${tag}`)}</span>
          ))}
        </div>
        <Group justify="space-between" gap={6} wrap="nowrap" mt="auto">
          {model.permitted ? (
            <OptionPrice model={model} draft={draft} />
          ) : (
            <Text size="xs" c="dimmed">
              {t('notInPlan')}
            </Text>
          )}
          <Text size="xs" c="dimmed" ta="end">
            {[
              can.seconds === undefined ? '' : describeSeconds(can.seconds, t),
              measured === undefined ? '' : t('usually', { time: formatEstimate(measured.p50_seconds) }),
            ]
              .filter((text) => text !== '')
              .join(' · ')}
          </Text>
        </Group>
      </div>
    </Combobox.Option>
  );
}

/** A number that stays the same for the same text. */
const numberOf = (text: string): number =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7);
/** The sandbox's scene that stands for a model: neighbours in the grid have different ones. */
const sceneOf = (model: UsableModel): string => SAMPLE_SCENES[(rankOf(model) * 5) % SAMPLE_SCENES.length] ?? '';
const LOOKS = 4;
const lookOf = ({ vendor }: UsableModel): number => (numberOf(vendor) % LOOKS) + 1;

function OptionPrice({ model, draft }: { readonly model: UsableModel; readonly draft: Draft }) {
  const { ref, inViewport } = useInViewport();
  const price = useModelPrice(model, draft, inViewport);
  const formatCredits = useFormatCredits();
  return (
    <Text ref={ref} size="sm" fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
      {price === null ? '–' : formatCredits(price)}
    </Text>
  );
}

function describeSeconds(can: DurationRange, t: ReturnType<typeof useTranslation<'studio'>>['t']): string {
  const values = 'values' in can ? can.values : [can.min, can.max];
  const [first = 0, last = first] = [values[0], values.at(-1)];
  return first === last ? t('secondsShort', { seconds: first }) : t('secondsRange', { from: first, to: last });
}

type Family = keyof typeof en.modelNotes.families;

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
const familyOf = ({ id }: Pick<UsableModel, 'id'>): Family | undefined =>
  FAMILIES.find(([pattern]) => pattern.test(id))?.[1];

/** Place of a model's family in the curated order. */
const rankOf = ({ id }: Pick<UsableModel, 'id'>): number => {
  const rank = FAMILIES.findIndex(([pattern]) => pattern.test(id));
  return rank < 0 ? FAMILIES.length : rank;
};

/** Capabilities to filter by, in the order of the filters. */
const MODEL_TAGS = ['text', 'image', 'frames', 'references', 'sound', 'edit', 'extend', 'fast'] as const;
/** One of them. */
type ModelTag = (typeof MODEL_TAGS)[number];

/** Tags of a model, derived from the inputs its vendor accepts. */
function tagsOf(model: UsableModel): readonly ModelTag[] {
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
const MODEL_ORDERS = ['recommended', 'price'] as const;
/** One of them. */
type ModelOrder = (typeof MODEL_ORDERS)[number];

/** Price of five seconds, for comparison only. */
const comparedPrice = ({ price }: UsableModel): number => (isChatPrice(price) ? 0 : minimumVideoPrice(price, 5));

/** Previews, faster variants and other vendors' offers of a model. */
const VARIANT = /preview|fast|flash|lite|mini\b|turbo|^dreamina|_|i2v|r2v|kf2v/i;

/** Sorts models: the main model of each family and then their variants, or the cheapest first. */
function sortModels(models: readonly UsableModel[], order: ModelOrder): readonly UsableModel[] {
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

interface ComparedModelsProps {
  readonly models: readonly UsableModel[];
  readonly onRemove: (id: string) => void;
  /** Undefined at the maximum number of compared models. */
  readonly onAdd: (() => void) | undefined;
}

/** Further models of a comparison, each removable. */
export function ComparedModels({ models, onRemove, onAdd }: ComparedModelsProps) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={6}>
      {models.map((model) => (
        <Pill
          key={model.id}
          size="md"
          title={model.id}
          withRemoveButton
          onRemove={() => onRemove(model.id)}
          removeButtonProps={{
            'aria-label': t('compareRemove', { model: modelTitle(model) }),
            'aria-hidden': false,
            tabIndex: 0,
          }}
        >
          {modelTitle(model)}
        </Pill>
      ))}
      {onAdd === undefined ? null : (
        <ActionIcon aria-label={t('compare')} data-compare onClick={onAdd}>
          <IconPlus size={16} />
        </ActionIcon>
      )}
    </Group>
  );
}
