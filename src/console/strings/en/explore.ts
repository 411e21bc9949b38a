/** Prompts to start from. */
export default {
  title: 'Explore',
  lead: 'Prompts to start from. One click puts them into the studio.',
  ideas: {
    aurora: {
      title: 'Northern lights',
      prompt: 'Northern lights ripple over a snowy ridge, stars turning slowly, wide angle, time lapse',
    },
    city: {
      title: 'City at night',
      prompt: 'A city skyline at blue hour, windows lighting up one by one, slow drone push forward',
    },
    forest: {
      title: 'Forest in mist',
      prompt: 'Morning mist drifts between tall firs, shafts of light, slow lateral dolly, 35 mm film',
    },
    mountains: {
      title: 'Mountain layers',
      prompt: 'Layered blue mountains at sunrise, low clouds moving through the valleys, aerial parallax',
    },
    planet: {
      title: 'Ringed planet',
      prompt: 'A ringed planet rises behind a small moon, long shadows, slow orbiting camera, cinematic',
    },
    road: {
      title: 'Desert road',
      prompt: 'A straight desert road at dusk seen from a moving car, heat shimmer, warm light, low angle',
    },
    sea: {
      title: 'Evening sea',
      prompt: 'Gentle waves under a low sun, glitter on the water, camera just above the surface, slow motion',
    },
    silk: {
      title: 'Silk in the wind',
      prompt: 'A length of red silk floats and folds in slow motion against a dark studio, soft rim light',
    },
    street: {
      title: 'Rainy street',
      prompt: 'A paper boat drifts down a rainy street at dusk, neon reflections, low tracking shot',
    },
    portrait: {
      title: 'Window light',
      prompt: 'Close-up of a woman by a window, turning towards the light and smiling, shallow depth of field',
    },
    desert: {
      title: 'Desert dunes',
      prompt: 'Wind lifts sand from the crest of a desert dune at noon, slow aerial glide, long shadows, warm haze',
    },
    clouds: {
      title: 'Above the clouds',
      prompt: 'Flight above endless clouds in golden light, white peaks drifting past, smooth aerial shot',
    },
  },
};
