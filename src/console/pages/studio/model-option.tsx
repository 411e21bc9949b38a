import { Combobox, Group, Stack, Text, Tooltip } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { IconCheck, IconPhoto, IconVolume } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { formatSeconds } from '../../data/format-times-and-durations.ts';
import type { UsableModel } from '../../data/usable-models-query.ts';
import { durationsQuery } from '../../data/video-queries.ts';
import { controlsFor, type Draft, type DurationRange } from './draft-type-and-fit-to-model.ts';
import { modelLabel } from './model-label.ts';
import { useModelPrice } from './use-prices.ts';

interface ModelOptionProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly active: boolean;
}

/** One card of the grid: name, what the model takes, price for the present settings, usual wait. Those outside the plan cannot be selected. */
export function ModelOption({ model, draft, active }: ModelOptionProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model);
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
          {can.pictures.max > 0 ? (
            <Tooltip label={t('takesPictures')}>
              <IconPhoto size={15} role="img" aria-label={t('takesPictures')} />
            </Tooltip>
          ) : null}
          {can.audio ? (
            <Tooltip label={t('soundOn')}>
              <IconVolume size={15} role="img" aria-label={t('soundOn')} />
            </Tooltip>
          ) : null}
          <Text size="xs">{wait}</Text>
        </Group>
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
