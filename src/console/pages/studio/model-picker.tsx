import { InputBase } from '@mantine/core';
import { IconArrowsExchange } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/model-queries.ts';
import { modelLabel } from './model-label.ts';
import type { Draft } from './studio-draft.ts';

const ModelGrid = lazy(() => import('./model-grid.tsx'));

interface ModelPickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly opened: boolean;
  readonly setOpened: (opened: boolean) => void;
  readonly onChange: (model: UsableModel) => void;
}

/** The button that names the model, and the grid of all models it opens. */
export function ModelPicker({ models, draft, opened, setOpened, onChange }: ModelPickerProps) {
  const { t } = useTranslation('studio');
  const selected = models.find(({ id }) => id === draft.model);
  return (
    <>
      <InputBase
        component="button"
        type="button"
        pointer
        label={t('model')}
        aria-label={selected === undefined ? t('model') : `${t('model')}: ${modelLabel(selected)}`}
        aria-haspopup="dialog"
        aria-keyshortcuts="m"
        rightSection={<IconArrowsExchange size={16} />}
        rightSectionPointerEvents="none"
        onClick={() => setOpened(true)}
      >
        {selected === undefined ? t('modelPlaceholder') : modelLabel(selected)}
      </InputBase>
      {opened ? (
        <Suspense>
          <ModelGrid
            title={t('modelPlaceholder')}
            models={models}
            draft={draft}
            selected={[draft.model]}
            onSelect={(model) => {
              onChange(model);
              setOpened(false);
            }}
            onClose={() => setOpened(false)}
          />
        </Suspense>
      ) : null}
    </>
  );
}
