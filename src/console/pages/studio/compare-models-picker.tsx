import { ActionIcon, Button, Group, Pill } from '@mantine/core';
import { IconColumns, IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/usable-models-query.ts';
import { MAX_COMPARED, modelsOfDraft, toggleCompared } from './compared-models-and-request-bodies.ts';
import type { Draft } from './draft-type-and-fit-to-model.ts';
import { modelLabel } from './model-label.ts';

const ModelGrid = lazy(() => import('./model-grid.tsx'));

interface ComparePickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly onChange: (compare: Draft['compare']) => void;
}

/** Further models to make the same video with: up to four together. */
export function CompareModelsPicker({ models, draft, onChange }: ComparePickerProps) {
  const { t } = useTranslation('studio');
  const [opened, setOpened] = useState(false);
  const others = modelsOfDraft(draft, models).slice(1);
  const close = (): void => setOpened(false);
  const toggle = (id: string): void => {
    const compare = toggleCompared(draft, id);
    onChange(compare);
    if (compare.length >= MAX_COMPARED - 1) close();
  };
  return (
    <>
      {others.length === 0 ? (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconColumns size={15} />}
          aria-keyshortcuts="c"
          data-compare
          style={{ alignSelf: 'flex-start' }}
          onClick={() => setOpened(true)}
        >
          {t('compare')}
        </Button>
      ) : (
        <Group gap={6}>
          {others.map((model) => (
            <Pill
              key={model.id}
              size="md"
              withRemoveButton
              onRemove={() => onChange(toggleCompared(draft, model.id))}
              removeButtonProps={{
                'aria-label': t('compareRemove', { model: modelLabel(model) }),
                'aria-hidden': false,
                tabIndex: 0,
              }}
            >
              {modelLabel(model)}
            </Pill>
          ))}
          {others.length < MAX_COMPARED - 1 ? (
            <ActionIcon aria-label={t('compare')} data-compare onClick={() => setOpened(true)}>
              <IconPlus size={16} />
            </ActionIcon>
          ) : null}
        </Group>
      )}
      {opened ? (
        <Suspense>
          <ModelGrid
            title={t('compareTitle')}
            models={models.filter(({ id }) => id !== draft.model)}
            draft={draft}
            selected={draft.compare}
            onSelect={({ id }) => toggle(id)}
            onClose={close}
          />
        </Suspense>
      ) : null}
    </>
  );
}
