import { Combobox, Group, Stack, Text, TextInput, Tooltip, useCombobox } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconCheck, IconSearch, IconVolume } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { formatSeconds } from '../../data/format-times.ts';
import type { UsableModel } from '../../data/models.ts';
import { durationsQuery } from '../../data/videos.ts';
import { controlsFor, type Draft, type DurationRange } from './draft.ts';
import { useInputTexts } from './input-texts.ts';
import { waysFor } from './inputs.ts';
import { type FavouriteAndRecentModels, modelLabel, readFavouriteAndRecentModels, useModelPrice } from './models.ts';

interface ModelGridProps {
  readonly title: string;
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly selected: readonly string[];
  readonly onSelect: (model: UsableModel) => void;
  readonly onClose: () => void;
}

/**
 * All models with price for the current settings and usual duration: favourites and recent models first, then the
 * others by vendor; searchable.
 */
export default function ModelGrid({ title, models, draft, selected, onSelect, onClose }: ModelGridProps) {
  const { t } = useTranslation('studio');
  const [search, setSearch] = useState('');
  const [marks] = useState(readFavouriteAndRecentModels);
  // Always open: Escape closes the dialog instead of the combobox.
  const combobox = useCombobox({ opened: true, onOpenedChange: (opened) => (opened ? undefined : onClose()) });
  const found = models.filter((model) => matchesSearch(model, search));
  const groups = groupModels(found, marks, { favourites: t('favourites'), recent: t('recent') });
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
    <Dialog onClose={onClose} title={title} size={1040}>
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
          <Combobox.Options className="model-grid" aria-label={title} tabIndex={0}>
            {groups.map(({ label, members }) => (
              <Combobox.Group key={label} label={label}>
                {members.map((model) => (
                  <ModelOption key={model.id} model={model} draft={draft} active={selected.includes(model.id)} />
                ))}
              </Combobox.Group>
            ))}
            {found.length === 0 ? <Combobox.Empty>{t('noModelFound', { search })}</Combobox.Empty> : null}
          </Combobox.Options>
          <Group>
            <Text size="xs" c="dimmed">
              {t('modelPriceHint')}
            </Text>
          </Group>
        </Stack>
      </Combobox>
    </Dialog>
  );
}

interface ModelGroup {
  readonly label: string;
  readonly members: readonly UsableModel[];
}

/** Groups models: favourites and recent ones, then one group per vendor; each model is in one group. */
function groupModels(
  models: readonly UsableModel[],
  marks: FavouriteAndRecentModels,
  labels: { readonly favourites: string; readonly recent: string },
): readonly ModelGroup[] {
  const pick = (ids: readonly string[]) => ids.flatMap((id) => models.find((model) => model.id === id) ?? []);
  const favourites = pick(marks.favourites);
  const recent = pick(marks.recent.filter((id) => !marks.favourites.includes(id)));
  const others = models.filter((model) => !favourites.includes(model) && !recent.includes(model));
  const vendors = [...new Set(others.map(({ vendor_title }) => vendor_title))];
  return [
    { label: labels.favourites, members: favourites },
    { label: labels.recent, members: recent },
    ...vendors.map((vendor) => ({
      label: vendor,
      members: others.filter(({ vendor_title }) => vendor_title === vendor),
    })),
  ].filter(({ members }) => members.length > 0);
}

/** Whether the vendor's name, the model's title or its id together contain every word of the search. */
function matchesSearch(model: UsableModel, search: string): boolean {
  const text = `${model.vendor_title} ${modelLabel(model)} ${model.id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface ModelOptionProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly active: boolean;
}

/**
 * One card of the grid: name, supported inputs, price for the current settings, usual duration. Models outside the plan
 * cannot be selected.
 */
function ModelOption({ model, draft, active }: ModelOptionProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model, { ...draft, inputs: [], resolution: '' });
  const texts = useInputTexts();
  const takes = texts.takes(waysFor(model, draft.operation) ?? []);
  const durations = useQuery(durationsQuery);
  const measured = durations.data?.find((each) => each.model === model.id);
  const wait = measured === undefined ? '' : t('usually', { time: formatSeconds(measured.p50_seconds) });
  return (
    <Combobox.Option value={model.id} disabled={!model.permitted} active={active} aria-selected={active}>
      <Stack gap={4} h="100%" justify="space-between">
        <Group justify="space-between" wrap="nowrap" gap={4} align="flex-start">
          <Text size="sm" fw={600} component="div" style={{ overflowWrap: 'anywhere' }}>
            {model.capability?.title ?? model.id}
            {modelLabel(model) === model.capability?.title || model.capability === null ? null : (
              <Text size="xs" c="dimmed">
                {model.id}
              </Text>
            )}
          </Text>
          {active ? <IconCheck size={16} style={{ flexShrink: 0 }} aria-hidden /> : null}
        </Group>
        <Group gap={6} c="dimmed">
          {can.seconds === undefined ? null : <Text size="xs">{describeSeconds(can.seconds, t)}</Text>}
          {can.audio ? (
            <Tooltip label={t('soundOn')}>
              <IconVolume size={15} role="img" aria-label={t('soundOn')} />
            </Tooltip>
          ) : null}
          <Text size="xs">{wait}</Text>
        </Group>
        <Text size="xs" c="dimmed" lineClamp={2} title={takes}>
          {takes === '' ? t('takesText') : takes}
        </Text>
        {model.permitted ? (
          <OptionPrice model={model} draft={draft} />
        ) : (
          <Text size="xs" c="dimmed">
            {t('notInPlan')}
          </Text>
        )}
      </Stack>
    </Combobox.Option>
  );
}

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
