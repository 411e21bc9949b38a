import { ActionIcon, Group, Pill } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/models.ts';
import { modelTitle } from './models.ts';

interface ComparedModelsProps {
  readonly models: readonly UsableModel[];
  readonly onRemove: (id: string) => void;
  /** Undefined at the maximum number of compared models. */
  readonly onAdd: (() => void) | undefined;
}

/** Further models of a comparison, each removable. */
export default function ComparedModels({ models, onRemove, onAdd }: ComparedModelsProps) {
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
