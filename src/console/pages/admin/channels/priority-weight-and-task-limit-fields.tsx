import { NumberInput, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { useFormValues } from '../../../components/use-form-values.ts';
import type { ChannelFormValues } from './channel-form-values.ts';

interface PriorityWeightAndTaskLimitFieldsProps {
  readonly value: ReturnType<typeof useFormValues<ChannelFormValues>>['value'];
  /** Whether its vendor makes videos, which can be bounded. */
  readonly hasVideos: boolean;
}

/** How much of the calls a channel gets. */
export function PriorityWeightAndTaskLimitFields({ value, hasVideos }: PriorityWeightAndTaskLimitFieldsProps) {
  const { t } = useTranslation('admin-channels');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberInput
        label={t('channels.priority')}
        description={t('channels.priorityHint')}
        min={-1_000_000}
        max={1_000_000}
        allowDecimal={false}
        {...value('priority')}
      />
      <NumberInput
        label={t('channels.weight')}
        description={t('channels.weightHint')}
        min={0}
        max={1_000_000}
        allowDecimal={false}
        {...value('weight')}
      />
      {hasVideos ? (
        <NumberInput
          label={t('channels.concurrentTasks')}
          description={t('channels.concurrentTasksHint')}
          min={1}
          max={1_000_000}
          allowDecimal={false}
          {...value('maxConcurrentTasks')}
        />
      ) : null}
    </SimpleGrid>
  );
}
