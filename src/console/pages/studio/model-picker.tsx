import { ActionIcon, Group } from '@mantine/core';
import { IconChevronDown, IconColumns, IconMovie, IconStar, IconStarFilled } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatLabelled } from '../../data/format-values.ts';
import type { UsableModel } from '../../data/self.ts';
import { modelTitle } from '../../data/self.ts';
import { type Draft, MAX_COMPARED, modelsOfDraft, toggleCompared } from './draft.ts';
import { readPickedModels, toggleFavouriteModel } from './models.ts';

const ModelGrid = lazy(() => import('./model-grid.tsx'));

interface ModelPickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly opened: boolean;
  readonly setOpened: (opened: boolean) => void;
  readonly onChange: (model: UsableModel) => void;
}

/** Chip that names the model and opens the grid of all models, next to its favourite toggle. */
export function ModelPicker({ models, draft, opened, setOpened, onChange }: ModelPickerProps) {
  const { t } = useTranslation('studio');
  const [{ favourites }, setMarks] = useState(readPickedModels);
  const selected = models.find(({ id }) => id === draft.model);
  const starred = favourites.includes(draft.model);
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <button
        type="button"
        className="chip model-chip"
        aria-label={selected === undefined ? t('model') : formatLabelled(t('model'), modelTitle(selected))}
        aria-haspopup="dialog"
        aria-keyshortcuts="m"
        onClick={() => setOpened(true)}
      >
        <IconMovie size={16} />
        <span>{selected === undefined ? t('modelPlaceholder') : modelTitle(selected)}</span>
        <IconChevronDown size={14} />
      </button>
      <ActionIcon
        data-hint={t(starred ? 'unfavourite' : 'favourite')}
        aria-label={t('favouriteModel')}
        aria-pressed={starred}
        disabled={selected === undefined}
        color={starred ? 'accent' : 'gray'}
        onClick={() => setMarks(toggleFavouriteModel(draft.model))}
      >
        {starred ? <IconStarFilled size={16} /> : <IconStar size={17} />}
      </ActionIcon>
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
    </Group>
  );
}

const ComparedModels = lazy(async () => ({ default: (await import('./model-grid.tsx')).ComparedModels }));

interface ComparePickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly onChange: (compare: Draft['compare']) => void;
}

/** Selects further models to generate the same video with; up to four in total. */
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
        <button type="button" className="chip" aria-keyshortcuts="c" data-compare onClick={() => setOpened(true)}>
          <IconColumns size={16} />
          {t('compare')}
        </button>
      ) : (
        <Suspense>
          <ComparedModels
            models={others}
            onRemove={(id) => onChange(toggleCompared(draft, id))}
            onAdd={others.length < MAX_COMPARED - 1 ? () => setOpened(true) : undefined}
          />
        </Suspense>
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
