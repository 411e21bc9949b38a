#version 300 es
// The scenes of the sandbox's clips. Every scene is a function of position, time and look (0 to 3), so that a clip is
// reproducible; scripts/make-sandbox-media.ts renders them. SCENE is defined by the script.
precision highp float;
uniform vec2 size;
uniform float time; // 0 to 1 over the clip
uniform int look;
out vec4 color;

float hash(float n) { return fract(sin(n * 127.1 + float(look) * 3.7) * 43758.5453); }
float hash(vec2 p) {
  p = fract(p * vec2(123.34, 456.21) + float(look) * 0.137);
  p += dot(p, p + 45.32);
  return fract(p.x * p.y);
}
float noise(vec2 p) {
  vec2 i = floor(p), f = fract(p);
  f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(i), hash(i + vec2(1, 0)), f.x), mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), f.x), f.y);
}
float fbm(vec2 p) {
  float sum = 0.0, weight = 0.5;
  for (int i = 0; i < 5; i++) { sum += weight * noise(p); p = mat2(1.6, 1.2, -1.2, 1.6) * p; weight *= 0.5; }
  return sum;
}
float ridged(vec2 p) {
  float sum = 0.0, weight = 0.5;
  for (int i = 0; i < 5; i++) { sum += weight * (1.0 - abs(2.0 * noise(p) - 1.0)); p = p * 2.03 + 7.1; weight *= 0.5; }
  return sum;
}
float line(vec2 p, vec2 a, vec2 b) {
  vec2 q = p - a, d = b - a;
  return length(q - d * clamp(dot(q, d) / dot(d, d), 0.0, 1.0));
}
float ellipse(vec2 p, vec2 center, vec2 radius) { return (length((p - center) / radius) - 1.0) * min(radius.x, radius.y); }
float blend(float a, float b, float k) {
  float h = clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
  return mix(b, a, h) - k * h * (1.0 - h);
}
float inside(float distance) { return smoothstep(0.0022, -0.0022, distance); }

vec3 pick(vec3 a, vec3 b, vec3 c, vec3 d) { return look == 0 ? a : look == 1 ? b : look == 2 ? c : d; }
#define ZENITH pick(vec3(.13,.20,.42), vec3(.09,.33,.68), vec3(.09,.07,.27), vec3(.02,.24,.33))
#define HORIZON pick(vec3(1.,.60,.30), vec3(.78,.90,.97), vec3(.96,.48,.50), vec3(.98,.80,.58))
#define SUN pick(vec3(1.,.86,.56), vec3(1.,.97,.88), vec3(1.,.66,.60), vec3(1.,.93,.70))
#define SHADE pick(vec3(.09,.07,.13), vec3(.05,.13,.22), vec3(.06,.03,.13), vec3(.01,.08,.09))
#define ACCENT pick(vec3(1.,.38,.20), vec3(.20,.62,1.), vec3(1.,.22,.62), vec3(.16,.92,.72))

vec2 sunAt() { return look == 0 ? vec2(.18, .13) : look == 1 ? vec2(-.42, .30) : look == 2 ? vec2(-.10, .07) : vec2(.44, .18); }
vec3 sky(vec2 p) {
  float y = clamp(p.y * 1.7, 0.0, 1.0);
  vec3 c = mix(HORIZON, ZENITH, pow(y, 0.62));
  float d = length(p - sunAt());
  c += SUN * (0.55 * exp(-d * 5.5) + 0.9 * smoothstep(0.052, 0.045, d) + 0.22 * exp(-d * 16.0));
  float cloud = fbm(vec2(p.x * 1.5 + time * 0.12, p.y * 5.5 / (0.35 + abs(p.y))) + 3.0);
  float lit = fbm(vec2(p.x * 1.5 + time * 0.12 + 0.08, p.y * 5.5 / (0.35 + abs(p.y)) - 0.14) + 3.0);
  float cover = smoothstep(0.50, 0.78, cloud) * smoothstep(0.0, 0.12, p.y);
  return mix(c, mix(HORIZON * 0.72 + ZENITH * 0.25, SUN * 1.05, clamp(0.5 + (cloud - lit) * 4.5, 0.0, 1.0)), cover * 0.8);
}
vec3 stars(vec2 p, float density) {
  vec3 c = vec3(0);
  for (int i = 0; i < 2; i++) {
    vec2 q = p * (55.0 + 40.0 * float(i)), cell = floor(q);
    float on = step(1.0 - density, hash(cell + float(i) * 9.0));
    float bright = hash(cell + 5.0);
    vec2 at = vec2(hash(cell + 1.3), hash(cell + 2.7)) * 0.6 + 0.2;
    c += on * smoothstep(0.16, 0.0, length(fract(q) - at)) * (0.35 + 0.65 * bright) * (0.75 + 0.25 * sin(time * 30.0 + bright * 60.0));
  }
  return c;
}

vec3 water(vec2 p) {
  float level = 0.02;
  if (p.y > level) return sky(p - vec2(0, level));
  float depth = 0.16 / (level - p.y + 0.012);
  vec2 q = vec2(p.x * depth * 5.0, depth * 4.0 + time * 2.6);
  float e = 0.06, fade = 1.0 / (1.0 + depth * 0.20);
  float swell = sin(q.y * 0.8 + q.x * 0.25 + time * 5.0) * 0.35;
  float h = fbm(q + vec2(time, 0)) + swell, hx = fbm(q + vec2(e + time, 0)) + swell;
  float hy = fbm(q + vec2(time, e)) + sin((q.y + e) * 0.8 + q.x * 0.25 + time * 5.0) * 0.35;
  vec2 slope = vec2(hx - h, hy - h) / e * fade;
  vec2 mirrored = vec2(p.x + slope.x * 0.10, (level - p.y) * 0.55 + abs(slope.y) * 0.22 + 0.01);
  vec3 reflected = mix(HORIZON, ZENITH, pow(clamp(mirrored.y * 1.8, 0.0, 1.0), 0.6));
  vec3 deep = SHADE * 0.8 + ZENITH * 0.28 + ACCENT * 0.03;
  vec3 c = mix(deep, reflected, clamp(0.22 + 0.55 * exp((p.y - level) * 4.5) + slope.y * 0.22, 0.0, 1.0));
  vec2 sun = sunAt();
  float path = exp(-pow((p.x - sun.x + slope.x * 0.16) / (0.045 + (level - p.y) * 0.34), 2.0));
  c += SUN * path * (0.22 + 1.6 * smoothstep(0.10, 0.75, slope.y + slope.x * 0.4) * fade);
  c += vec3(1) * smoothstep(1.02, 1.22, h + slope.y * 0.2) * 0.35 * smoothstep(0.0, 0.2, level - p.y);
  vec2 boat = p - vec2(-0.30 + time * 0.09 + float(look) * 0.12, level + 0.004 * sin(time * 12.0));
  float hull = max(abs(boat.x) - 0.030 + max(-boat.y, 0.0) * 1.2, max(boat.y - 0.002, -boat.y - 0.010));
  return mix(c, SHADE * 0.5, inside(hull));
}
vec3 sea(vec2 p) {
  vec3 c = water(p);
  vec2 b = p - vec2(-0.30 + time * 0.09 + float(look) * 0.12, 0.022 + 0.004 * sin(time * 12.0));
  float sail = max(max(b.x - 0.024 * (1.0 - b.y / 0.11), -b.x - 0.002), max(-b.y, b.y - 0.11));
  return mix(c, mix(SUN, vec3(1), 0.4) * 0.95, inside(sail) * 0.95);
}

vec3 mountains(vec2 p) {
  vec3 c = sky(p + vec2(0, 0.02));
  for (int i = 0; i < 7; i++) {
    float f = float(i) / 6.0, x = p.x + time * (0.02 + 0.16 * f * f) + f * 3.7;
    float base = mix(0.10, -0.44, f), amp = mix(0.30, 0.24, f);
    float top = base + amp * (ridged(vec2(x * mix(0.9, 1.7, f), f * 9.0)) - 0.52) + 0.010 * fbm(vec2(x * 18.0, f));
    float below = top - p.y;
    if (below < -0.04) continue;
    vec3 rock = mix(HORIZON * 0.82 + ZENITH * 0.16, SHADE, pow(f, 0.7) * 0.94 + 0.06);
    float relief = ridged(vec2(x * 5.0, p.y * 6.0 + f * 7.0)) - 0.5;
    rock += (relief * 0.20 * (1.0 - f) + 0.03) * SUN * (1.0 - f);
    if (i < 3) rock = mix(rock, SUN * 0.92 + 0.06, smoothstep(0.10, 0.0, below + relief * 0.14 - 0.02) * 0.75 * smoothstep(0.12, 0.24, top + 0.12));
    if (i > 4) below += 0.020 * pow(abs(sin(x * 70.0 + sin(x * 31.0) * 2.0)), 3.0) * (0.5 + noise(vec2(x * 40.0, f)));
    float mist = smoothstep(0.02, 0.30, below) * (1.0 - f) * (0.62 + 0.5 * fbm(vec2(x * 2.2 - time * 0.6, p.y * 4.0 + f)));
    c = mix(c, mix(rock, HORIZON * 0.93 + 0.04, clamp(mist, 0.0, 0.92)), inside(-below));
  }
  return c;
}

vec3 skyline(vec2 p) {
  vec3 night = mix(HORIZON * 0.42, ZENITH * 0.32, smoothstep(-0.1, 0.5, p.y));
  vec3 c = night + stars(p + 4.0, 0.03) * smoothstep(0.1, 0.4, p.y);
  float moon = length(p - vec2(0.46, 0.34));
  c += SUN * (smoothstep(0.046, 0.043, moon) * 0.8 + 0.16 * exp(-moon * 9.0));
  for (int i = 0; i < 4; i++) {
    float f = float(i) / 3.0, count = mix(17.0, 6.5, f);
    float x = (p.x + 2.0 + time * mix(0.03, 0.20, f)) * count + f * 13.0, id = floor(x), u = fract(x);
    float tall = hash(id + f * 31.0), width = 0.5 + 0.42 * hash(id * 1.7 + f * 11.0);
    float top = mix(-0.02, -0.12, f) + mix(0.22, 0.36, f) * tall * tall + 0.03;
    float spire = step(0.82, tall) * step(abs(u - 0.5), 0.02) * 0.07;
    float wall = step(abs(u - 0.5), width * 0.5);
    bool solid = p.y < top + spire && (wall > 0.5 || spire > 0.0 && abs(u - 0.5) < 0.02);
    if (!solid) continue;
    vec3 face = mix(HORIZON * 0.28, SHADE * 0.55, 0.35 + 0.65 * f) * (0.75 + 0.4 * u);
    vec2 grid = vec2((u - 0.5) / width * (4.0 + floor(hash(id) * 4.0)), p.y * mix(95.0, 44.0, f)), cell = floor(grid), w = fract(grid);
    float lit = step(0.60, hash(cell + id * 3.1 + f * 17.0)) * step(0.22, w.x) * step(w.x, 0.78) * step(0.28, w.y) * step(w.y, 0.80);
    lit *= 0.55 + 0.45 * hash(cell + 7.0) + 0.3 * step(0.97, hash(cell + floor(time * 4.0)));
    vec3 lamp = mix(vec3(1.0, 0.78, 0.42), mix(ACCENT, vec3(0.8, 0.9, 1.0), 0.5), step(0.72, hash(id + 4.0)));
    c = face + lamp * lit * mix(0.45, 1.05, f) * step(p.y, top - 0.012);
    c = mix(c, HORIZON * 0.40, (1.0 - f) * 0.42 + 0.20 * smoothstep(0.1, -0.2, p.y) * (1.0 - f));
  }
  return c;
}
vec3 city(vec2 p) {
  float level = -0.20;
  if (p.y > level) return skyline(p);
  float depth = level - p.y;
  float wave = (fbm(vec2(p.x * 9.0, depth * 90.0 / (0.25 + depth * 2.0) - time * 5.0)) - 0.5) * (0.02 + depth * 0.16);
  vec3 c = vec3(0);
  for (int i = 0; i < 4; i++) c += skyline(vec2(p.x + wave, level + depth * (0.85 + 0.25 * float(i)) + abs(wave) * 0.7)) * 0.25;
  c = c * 0.62 + HORIZON * 0.04;
  float lights = exp(-pow((p.y - level) / 0.004, 2.0)) * step(0.45, hash(floor(p.x * 30.0 + 60.0)));
  return c + vec3(1.0, 0.8, 0.5) * lights * 0.8;
}

vec3 neon(vec2 p, float blur) {
  vec3 c = mix(SHADE * 0.9, ZENITH * 0.30 + HORIZON * 0.05, smoothstep(-0.1, 0.5, p.y));
  for (int i = 0; i < 22; i++) {
    float f = float(i), z = 0.35 + 0.65 * hash(f + 3.0);
    vec2 at = vec2((hash(f) - 0.5) * 2.4 - time * 0.10 * z, 0.02 + 0.42 * hash(f + 9.0));
    vec3 tint = hash(f + 5.0) < 0.34 ? ACCENT : hash(f + 6.0) < 0.5 ? vec3(1.0, 0.62, 0.25) : mix(ACCENT.bgr, vec3(0.5, 0.7, 1.0), 0.4);
    float d = length(p - at), radius = 0.020 + 0.040 * z;
    if (d > 0.36) continue;
    c += tint * (smoothstep(radius, radius * 0.82, d) * (0.34 + 0.16 * smoothstep(radius * 0.6, radius, d)) + 0.10 * exp(-d * 9.0)) * (0.5 + 0.5 * hash(f + 8.0));
  }
  for (int i = 0; i < 5; i++) {
    float f = float(i);
    vec2 q = p - vec2(-0.72 + 0.34 * f + 0.1 * hash(f) - time * 0.06, 0.14 + 0.10 * hash(f + 2.0));
    vec2 half_ = mod(f, 2.0) < 0.5 ? vec2(0.022, 0.11) : vec2(0.075, 0.024);
    float d = length(max(abs(q) - half_, 0.0));
    if (d > 0.30) continue;
    vec3 tint = mod(f, 3.0) < 0.5 ? ACCENT : mod(f, 3.0) < 1.5 ? vec3(1.0, 0.75, 0.3) : vec3(0.35, 0.75, 1.0);
    float flicker = f == 2.0 ? 0.75 + 0.25 * step(0.3, fract(time * 9.0)) : 1.0;
    c += tint * flicker * (0.85 * smoothstep(0.022 + blur, 0.0, d) + 0.28 * exp(-d * 12.0));
  }
  return c;
}
float boatShape(vec2 b) {
  float hull = max(abs(b.x) - 0.105 - b.y * 1.15, max(-b.y - 0.022, b.y - 0.030 - abs(b.x) * 0.20));
  float sail = max(abs(b.x) - (0.098 - b.y) * 0.52, max(b.y - 0.098, -b.y + 0.010));
  return min(hull, sail);
}
vec3 street(vec2 p) {
  float level = -0.06;
  vec2 at = vec2(-0.22 + time * 0.30, -0.20 + 0.008 * sin(time * 19.0));
  float tilt = 0.07 * sin(time * 14.0);
  vec2 b = mat2(cos(tilt), -sin(tilt), sin(tilt), cos(tilt)) * (p - at) / 1.35;
  vec3 c;
  if (p.y > level) c = neon(p - vec2(0, level), 0.02);
  else {
    float depth = level - p.y;
    float ripple = fbm(vec2(p.x * 6.0 / (0.3 + depth), 5.0 / (0.08 + depth) + time * 3.0)) - 0.5;
    for (int i = 0; i < 12; i++) {
      vec2 cell = vec2(float(i), floor(time * 3.0 + hash(float(i)))), drop = vec2((hash(cell) - 0.5) * 1.9, -0.10 - 0.38 * hash(cell + 3.0));
      float age = fract(time * 3.0 + hash(float(i))), d = length((p - drop) * vec2(1.0, 2.8));
      ripple += 0.55 * sin((d - age * 0.13) * 160.0) * exp(-pow((d - age * 0.13) / 0.018, 2.0)) * (1.0 - age);
    }
    vec3 sum = vec3(0);
    for (int i = 0; i < 7; i++) sum += neon(vec2(p.x + ripple * 0.09, depth * (0.45 + 0.24 * float(i)) + ripple * 0.05), 0.06);
    c = sum / 7.0 * (0.92 - depth * 0.5) + SHADE * 0.10;
    vec2 r = vec2(b.x + ripple * 0.05, -b.y - 0.05);
    c = mix(c, mix(vec3(0.75), ACCENT, 0.35) * 0.36, inside(boatShape(r)) * 0.55);
  }
  float d = boatShape(b);
  vec3 paper = mix(vec3(0.96, 0.94, 0.90), ACCENT, 0.16) * (0.58 + 0.42 * smoothstep(-0.02, 0.05, b.x + b.y * 0.2)) * (b.y < 0.03 + abs(b.x) * 0.2 && b.y < 0.028 ? 0.90 : 1.0);
  c = mix(c, paper, inside(d));
  vec2 fall = p * vec2(46.0, 2.1) + vec2(p.y * 4.0, time * 22.0);
  c += vec3(0.75, 0.8, 0.9) * 0.13 * smoothstep(0.95, 1.0, hash(floor(fall))) * smoothstep(0.5, 0.0, abs(fract(fall.x) - 0.5)) * smoothstep(0.0, 0.5, fract(fall.y));
  return c;
}

float pines(vec2 p, float count, float shift) {
  float x = p.x * count + shift, id = floor(x), u = fract(x) - 0.5;
  float tall = 0.5 + 0.8 * hash(id + shift), y = p.y * count / (1.9 * tall);
  float steps = 0.30 * (1.0 - y) * (0.72 + 0.28 * (1.0 - fract(y * 5.5)));
  return y < 0.0 ? 1.0 : y > 1.0 ? 0.0 : smoothstep(0.02, -0.02, abs(u + 0.1 * (hash(id) - 0.5)) - steps);
}
vec3 auroraSky(vec2 p) {
  vec3 c = mix(ZENITH * 0.30 + vec3(0.0, 0.02, 0.05), vec3(0.005, 0.012, 0.045), smoothstep(0.0, 0.5, p.y)) + stars(p, 0.07);
  vec3 low = look == 0 ? vec3(0.2, 1.0, 0.45) : look == 1 ? vec3(0.15, 0.85, 0.9) : look == 2 ? vec3(0.75, 0.25, 1.0) : vec3(0.1, 1.0, 0.65);
  vec3 high = look == 0 ? vec3(0.5, 0.2, 0.9) : look == 1 ? vec3(0.2, 0.3, 1.0) : look == 2 ? vec3(1.0, 0.2, 0.45) : vec3(0.1, 0.4, 0.9);
  for (int i = 0; i < 3; i++) {
    float f = float(i), bend = 0.16 * sin(p.x * 2.2 + f * 2.1 + time * 1.6) + 0.22 * (fbm(vec2(p.x * 1.3 + f * 5.0 + time * 0.4, time * 0.5)) - 0.5);
    float y = p.y - 0.10 - 0.07 * f - bend;
    float rays = 0.35 + 0.65 * fbm(vec2((p.x + bend * 0.6) * 16.0 + f * 8.0 - time * 1.2, time * 1.4 + p.y * 0.6));
    float band = smoothstep(-0.015, 0.03, y) * exp(-max(y, 0.0) * (5.5 + f));
    c += mix(low, high, clamp(y * 3.4, 0.0, 1.0)) * band * rays * (0.95 - 0.22 * f);
  }
  return c;
}
vec3 aurora(vec2 p) {
  float level = -0.20;
  float hill = level + 0.02 + 0.13 * fbm(vec2(p.x * 1.4 + 5.0 + time * 0.05, 2.0));
  vec2 q = p.y > level ? p : vec2(p.x + (fbm(vec2(p.x * 8.0, 2.0 / (level - p.y + 0.04) + time * 1.5)) - 0.5) * 0.05, 2.0 * level - p.y);
  vec3 c = auroraSky(q);
  if (p.y <= level) c *= 0.55;
  float far = level + 0.16 * ridged(vec2(q.x * 1.3 + time * 0.03, 8.0)) + 0.01;
  c = mix(c, vec3(0.10, 0.13, 0.20) + 0.18 * smoothstep(0.10, 0.0, far - q.y) , inside(q.y - far) * (p.y > level ? 1.0 : 0.7));
  float trees = pines(vec2(q.x + time * 0.10, q.y - hill + 0.075), 17.0, 3.0);
  trees = max(trees, inside(q.y - hill + 0.06));
  return mix(c, vec3(0.006, 0.012, 0.022), trees * (p.y > level ? 1.0 : 0.75));
}

vec3 forest(vec2 p) {
  vec2 light = vec2(0.12, 0.22);
  vec3 glow = mix(HORIZON, SUN, 0.5), leaf = pick(vec3(.16,.20,.06), vec3(.10,.30,.14), vec3(.20,.10,.16), vec3(.04,.24,.18));
  vec3 c = mix(leaf * 1.2 + glow * 0.18, glow, exp(-length((p - light) * vec2(1.0, 0.8)) * 2.6));
  for (int i = 0; i < 6; i++) {
    float f = float(i) / 5.0, count = mix(15.0, 2.3, pow(f, 0.8)), x = (p.x * (1.0 - time * 0.10 * f) + time * mix(0.02, 0.22, f)) * count + f * 17.0;
    float id = floor(x), u = fract(x) - 0.5, at = (hash(id + f * 7.0) - 0.5) * 0.5, bend = 0.05 * sin(p.y * 3.0 + hash(id) * 9.0);
    float half_ = (0.07 + 0.09 * hash(id + 3.0)) * (1.0 + 0.35 * smoothstep(-0.15, -0.5, p.y));
    float d = abs(u - at + bend) - half_, side = (u - at + bend) / half_;
    float bark = fbm(vec2(side * 2.5 + id, p.y * mix(16.0, 5.0, f) + id)) - 0.5;
    vec3 trunk = mix(leaf + glow * 0.34, leaf * 0.22 + SHADE * 0.25, 0.2 + 0.8 * f) * (1.0 + bark * 0.9);
    trunk += glow * smoothstep(0.35, 1.0, side * sign(light.x - p.x)) * 0.50 * (1.0 - f * 0.5);
    float cover = smoothstep(0.012 * count * 0.4, -0.01, d);
    float ground = mix(-0.10, -0.40, f) + 0.05 * fbm(vec2(x * 0.9, f)) + 0.02 * fbm(vec2(x * 9.0, f * 3.0));
    if (hash(id + f) > 0.30) c = mix(c, trunk, cover);
    vec3 floor_ = mix(leaf * 1.25 + glow * 0.26, leaf * 0.40, f) * (0.7 + 0.6 * fbm(vec2(x * 4.0, p.y * 50.0)));
    c = mix(c, floor_, smoothstep(0.01, -0.01, p.y - ground));
    float crown = 0.30 + 0.16 * f + 0.26 * (fbm(vec2(x * 1.2 + 4.0, p.y * 3.0 + f * 5.0 + time * 0.1)) - 0.5);
    c = mix(c, mix(leaf * 1.8 + glow * 0.30, leaf * 0.45, f) * (0.6 + 0.8 * noise(vec2(x * 14.0, p.y * 40.0))), smoothstep(0.0, 0.05, p.y - crown) * 0.92);
    c = mix(c, glow, 0.10 * (1.0 - f));
  }
  vec2 ray = p - light - vec2(0.0, 0.45);
  float angle = atan(ray.x, -ray.y);
  float rays = smoothstep(0.42, 0.80, fbm(vec2(angle * 9.0 + time * 0.4, 1.0))) * exp(-abs(angle) * 1.1) * smoothstep(-0.55, 0.4, p.y);
  c += glow * rays * 0.42;
  for (int i = 0; i < 24; i++) {
    float f = float(i);
    vec2 at = vec2((hash(f) - 0.5) * 1.8 + 0.05 * sin(time * 5.0 + f), (hash(f + 2.0) - 0.5) * 0.8 + time * 0.08);
    c += SUN * 0.55 * smoothstep(0.0065, 0.0, length(p - at) - 0.001) * (0.5 + 0.5 * sin(time * 12.0 + f * 2.0));
  }
  return c;
}

vec3 desert(vec2 p) {
  vec3 c = sky(p + vec2(0, 0.02)), sand = pick(vec3(.86,.48,.24), vec3(.90,.72,.48), vec3(.66,.32,.36), vec3(.68,.62,.42));
  for (int i = 0; i < 5; i++) {
    float f = float(i) / 4.0, x = p.x * mix(1.6, 0.75, f) + time * mix(0.03, 0.22, f) + f * 4.3;
    float s = sin(x * 2.1 + f * 5.0), top = mix(0.03, -0.40, f) + mix(0.05, 0.16, f) * (s * 0.6 + 0.4 * sin(x * 4.7 + f)) + 0.02 * noise(vec2(x * 3.0, f));
    float below = top - p.y;
    if (below < -0.01) continue;
    float crest = x * 1.0 + below * mix(1.2, 2.2, f) + 0.22 * fbm(vec2(x * 1.5, below * 4.0 + f * 3.0));
    float lit = smoothstep(-0.22, 0.12, cos(crest * 2.1 + f * 5.0 + 0.5));
    float ripple = sin((below * mix(240.0, 105.0, f) + fbm(vec2(x * 6.0, below * 12.0)) * 7.0)) * 0.035 * f;
    vec3 dune = mix(sand * 0.34 + SHADE * 0.45, sand * SUN * 1.12, clamp(lit + ripple, 0.0, 1.0));
    dune = mix(dune, HORIZON, 0.60 * (1.0 - f) * (1.0 - f));
    dune += SUN * 0.20 * exp(-below * 55.0);
    c = mix(c, dune, inside(-below));
  }
  float dust = fbm(vec2(p.x * 2.6 - time * 2.0, p.y * 9.0)) * smoothstep(0.12, 0.0, abs(p.y + 0.04));
  return c + SUN * dust * 0.16;
}

vec3 clouds(vec2 p) {
  vec3 c = sky(p + vec2(0, 0.08));
  for (int i = 0; i < 9; i++) {
    float f = float(i) / 8.0, scale = mix(5.5, 1.1, f), x = p.x * scale + time * mix(0.10, 0.55, f) + f * 21.0;
    float top = mix(0.00, -0.62, pow(f, 0.85)) + mix(0.06, 0.42, f) * fbm(vec2(x, f * 7.0 + time * 0.15)) + mix(0.03, 0.16, f) * (noise(vec2(x * 0.6, f * 3.0)) - 0.3);
    if (top + 0.08 < p.y) continue;
    float body = top - p.y + mix(0.01, 0.06, f) * (fbm(vec2(x * 3.5, p.y * scale * 4.0 + f)) - 0.5) * 2.0;
    float lit = fbm(vec2(x * 2.2 + 0.25, p.y * scale * 2.4 + 0.35 + f * 3.0)) - fbm(vec2(x * 2.2, p.y * scale * 2.4 + f * 3.0));
    vec3 puff = mix(ZENITH * 0.55 + HORIZON * 0.42, SUN * 1.02, clamp(0.55 + lit * 1.7 - body * mix(5.0, 1.7, f), 0.0, 1.0));
    puff += SUN * 0.35 * exp(-max(body, 0.0) * mix(60.0, 22.0, f));
    c = mix(c, mix(puff, HORIZON, 0.45 * (1.0 - f)), smoothstep(0.0, mix(0.008, 0.05, f), body));
  }
  return c;
}

vec3 planet(vec2 p) {
  vec3 c = vec3(0.004, 0.006, 0.014) + stars(p + time * 0.006, 0.10) + ACCENT * 0.10 * pow(fbm(p * 2.4 + 3.0), 3.0) + HORIZON * 0.07 * pow(fbm(p * 1.7 + 9.0), 3.0);
  vec2 at = look == 0 ? vec2(0.20, -0.22) : look == 1 ? vec2(-0.22, -0.06) : look == 2 ? vec2(0.0, -0.60) : vec2(0.30, 0.05);
  float radius = look == 0 ? 0.44 : look == 1 ? 0.33 : look == 2 ? 0.72 : 0.36;
  vec2 q = (p - at) / (radius * (1.0 + 0.05 * time));
  float r2 = dot(q, q);
  vec3 light = normalize(vec3(-0.65, 0.55, 0.52));
  vec3 air = pick(vec3(1., .60, .35), vec3(.35, .65, 1.), vec3(1., .45, .65), vec3(.35, .95, .80));
  float rim = sqrt(r2) - 1.0;
  c += air * 0.75 * exp(-max(rim, 0.0) * 16.0) * smoothstep(-0.75, 0.65, dot(normalize(q), light.xy)) * step(0.0, rim);
  if (r2 < 1.0) {
    vec3 n = vec3(q, sqrt(1.0 - r2));
    float turn = time * 0.5 + float(look) * 0.45;
    vec3 m = vec3(n.x * cos(turn) + n.z * sin(turn), n.y, n.z * cos(turn) - n.x * sin(turn));
    vec2 uv = vec2(atan(m.x, m.z), asin(clamp(m.y, -1.0, 1.0)));
    float land = fbm(vec2(uv.x * 1.9, uv.y * 2.6) + 11.0), detail = fbm(uv * 9.0);
    vec3 ocean = mix(ZENITH * 0.55, ACCENT * 0.30 + ZENITH * 0.5, 0.4), soil = mix(pick(vec3(.55,.30,.16), vec3(.16,.34,.14), vec3(.45,.22,.34), vec3(.12,.36,.28)), vec3(0.72, 0.60, 0.42), detail * 0.7);
    vec3 surface = mix(ocean, soil * (0.6 + 0.7 * detail), smoothstep(0.49, 0.53, land));
    surface = mix(surface, vec3(0.94), smoothstep(1.02, 1.22, abs(uv.y) + 0.2 * detail));
    float cloud = smoothstep(0.48, 0.74, fbm(vec2(uv.x * 2.6 - time * 0.25 + fbm(uv * 3.0), uv.y * 4.6) + 5.0));
    surface = mix(surface, vec3(1), cloud * 0.9);
    float day = dot(n, light);
    float glint = pow(max(dot(reflect(-light, n), vec3(0, 0, 1)), 0.0), 26.0) * (1.0 - smoothstep(0.49, 0.53, land)) * (1.0 - cloud);
    vec3 lit = surface * smoothstep(-0.10, 0.75, day) * 1.18 + SUN * glint * 0.5;
    lit += vec3(1.0, 0.72, 0.35) * smoothstep(0.0, -0.25, day) * smoothstep(0.52, 0.56, land) * smoothstep(0.60, 0.82, noise(uv * 42.0)) * 0.8;
    lit += air * pow(1.0 - n.z, 2.6) * smoothstep(-0.25, 0.7, day) * 0.9;
    c = mix(c, lit, smoothstep(0.0, -0.006, rim));
  }
  vec2 moon = p - vec2(-0.62 + time * 0.10, 0.28);
  float d = length(moon) - 0.050;
  vec3 face = vec3(0.72, 0.70, 0.68) * (0.65 + 0.5 * fbm(moon * 40.0)) * smoothstep(-0.045, 0.03, dot(moon, light.xy));
  return mix(c, face, inside(d));
}

vec3 portrait(vec2 p) {
  vec3 c = mix(SHADE * 0.8, ZENITH * 0.55 + HORIZON * 0.16, smoothstep(-0.5, 0.5, p.y + p.x * 0.3));
  for (int i = 0; i < 26; i++) {
    float f = float(i), radius = 0.03 + 0.055 * hash(f + 3.0);
    vec2 at = vec2((hash(f) - 0.5) * 2.1 - time * 0.05, (hash(f + 7.0) - 0.42) * 0.95);
    vec3 tint = hash(f + 5.0) < 0.45 ? HORIZON : hash(f + 6.0) < 0.5 ? ACCENT : SUN;
    float d = length(p - at);
    c += tint * smoothstep(radius, radius * 0.86, d) * (0.13 + 0.12 * smoothstep(radius * 0.5, radius, d)) * (0.7 + 0.3 * sin(time * 5.0 + f));
  }
  float turn = 0.020 * sin(time * 3.1);
  vec2 q = (p - vec2(-0.02 + turn, -0.055 + 0.004 * sin(time * 6.0))) * vec2(look == 1 || look == 3 ? -1.0 : 1.0, 1.0);
  // A profile: skull, forehead, nose, lips, chin, neck and shoulders.
  float head = ellipse(q, vec2(-0.030, 0.155), vec2(0.165, 0.185));
  head = blend(head, ellipse(q, vec2(0.045, 0.075), vec2(0.098, 0.150)), 0.05);
  head = blend(head, line(q, vec2(0.115, 0.105), vec2(0.166, 0.046)) - 0.012, 0.030);
  head = blend(head, ellipse(q, vec2(0.122, 0.000), vec2(0.026, 0.013)), 0.016);
  head = blend(head, ellipse(q, vec2(0.118, -0.026), vec2(0.024, 0.013)), 0.014);
  head = blend(head, ellipse(q, vec2(0.092, -0.072), vec2(0.036, 0.030)), 0.028);
  float neck = line(q, vec2(-0.045, 0.02), vec2(-0.075, -0.30)) - 0.078;
  float shoulders = ellipse(q, vec2(-0.10, -0.52), vec2(0.43, 0.215));
  float skin = blend(blend(head, neck, 0.04), shoulders, 0.07);
  float lock_ = 0.030 * (fbm(vec2(q.x * 7.0, q.y * 9.0 - time * 2.2)) - 0.5);
  float hair = ellipse(q, vec2(-0.075, 0.180), vec2(0.178, 0.205)) + lock_;
  hair = blend(hair, ellipse(q, vec2(-0.185 + 0.025 * sin(time * 4.0 + q.y * 7.0), -0.06), vec2(0.105, 0.30)) + lock_ * 1.6, 0.08);
  hair = max(hair, -ellipse(q, vec2(0.095, 0.075), vec2(0.098, 0.165)));
  float edge = smoothstep(-0.040, 0.0, skin), e = 0.006;
  vec3 tone = pick(vec3(.62,.38,.27), vec3(.80,.60,.50), vec3(.50,.30,.30), vec3(.44,.31,.24));
  float form = clamp((q.x + 0.10) * 3.6 + (q.y - 0.05) * 0.8, 0.0, 1.0);
  vec3 face = tone * mix(0.16, 0.92, form * form) * mix(vec3(1), SUN, 0.4);
  face *= 1.0 - 0.34 * exp(-pow(length((q - vec2(0.076, 0.098)) / vec2(0.034, 0.018)), 2.0)) - 0.22 * exp(-pow(length((q - vec2(0.02, 0.03)) / vec2(0.06, 0.05)), 2.0)) * 0.5;
  face = mix(face, tone * vec3(0.85, 0.42, 0.40) * 0.75, 0.55 * smoothstep(0.004, -0.004, min(ellipse(q, vec2(0.126, 0.001), vec2(0.020, 0.009)), ellipse(q, vec2(0.121, -0.025), vec2(0.019, 0.010)))));
  float lid = line(q, vec2(0.062, 0.092), vec2(0.108, 0.089)), brow = line(q, vec2(0.048, 0.124), vec2(0.112, 0.127));
  face = mix(face, vec3(0.06, 0.04, 0.04), 0.8 * smoothstep(0.006, 0.002, lid) + 0.55 * smoothstep(0.008, 0.003, brow));
  face += (HORIZON * 0.55 + SUN * 0.35) * edge * smoothstep(-0.05, 0.12, q.x) * 0.85;
  vec3 cloth = mix(SHADE * 0.7, ACCENT * 0.40, 0.35) * (0.55 + 0.6 * form + 0.22 * fbm(q * vec2(22.0, 6.0)));
  face = mix(face, cloth, smoothstep(-0.325, -0.345, q.y + 0.16 * abs(q.x + 0.06)));
  c = mix(c, face, inside(skin));
  float strand = fbm(vec2(q.x * 36.0 + sin(q.y * 9.0) * 3.0, q.y * 5.0 - time * 0.8));
  vec3 locks = pick(vec3(.20,.10,.05), vec3(.42,.28,.14), vec3(.13,.06,.10), vec3(.10,.08,.06)) * (0.35 + 1.4 * strand * strand) + ACCENT * 0.62 * smoothstep(-0.035, 0.0, hair) * smoothstep(0.05, -0.2, q.x) + SUN * 0.30 * strand * smoothstep(-0.05, 0.0, hair) * smoothstep(-0.1, 0.1, q.x);
  return mix(c, locks, smoothstep(0.004, -0.004, hair));
}

vec3 road(vec2 p) {
  float level = 0.0, bend = 0.55 * sin(time * 2.2 + float(look)) ;
  vec3 c = sky(p - vec2(bend * 0.03, level));
  for (int i = 0; i < 3; i++) {
    float f = float(i) / 2.0, x = p.x - bend * (0.06 + 0.10 * f) + f * 6.0;
    float top = level + mix(0.12, 0.035, f) * ridged(vec2(x * mix(1.3, 2.6, f), f * 4.0 + 2.0)) + 0.004;
    c = mix(c, mix(HORIZON * 0.62 + ZENITH * 0.26, SHADE + HORIZON * 0.10, f), inside(p.y - top));
  }
  if (p.y < level) {
    float depth = 0.12 / (level - p.y + 0.006), curve = bend * 0.012 * depth * depth;
    float x = (p.x - curve * 0.12) * depth * 8.3 + 0.9, along = depth * 7.0 + time * 46.0, haze = 1.0 - exp(-depth * 0.13);
    vec3 field = pick(vec3(.40,.26,.12), vec3(.30,.42,.18), vec3(.26,.16,.24), vec3(.20,.30,.20)) * (0.55 + 0.8 * fbm(vec2(x * 1.2, along * 0.55)));
    vec3 tar = vec3(0.085, 0.085, 0.095) + HORIZON * 0.06 + 0.03 * noise(vec2(x * 9.0, along * 3.0));
    tar += HORIZON * 0.30 * exp(-abs(p.x - sunAt().x) * 5.0) * exp((p.y - level) * 9.0);
    vec3 ground = mix(field, tar, smoothstep(3.9, 3.7, abs(x)));
    float soft = 0.05 + depth * 0.03;
    float mark = smoothstep(soft, 0.0, abs(abs(x) - 3.35) - 0.07) + smoothstep(soft, 0.0, abs(x) - 0.08) * step(0.5, fract(along * 0.12));
    ground = mix(ground, vec3(0.92, 0.88, 0.76), clamp(mark, 0.0, 1.0) * 0.85 * exp(-depth * 0.05));
    c = mix(ground, HORIZON * 0.80, haze);
  }
  for (int i = 9; i >= 0; i--) {
    float depth = (float(i) + 1.0 - fract(time * 46.0 * 0.06)) * 1.15, side = mod(floor(time * 46.0 * 0.06) + float(i), 2.0) < 0.5 ? 1.0 : -1.0;
    vec2 foot = vec2((side * 5.2 - 0.9) / (depth * 8.3) + bend * 0.012 * depth * depth * 0.12, level - 0.12 / depth);
    float tall = 0.40 / depth, d = min(line(p, foot, foot + vec2(0, tall)), line(p, foot + vec2(-0.05, 0.36) / depth, foot + vec2(0.05, 0.36) / depth)) - 0.0058 / depth;
    c = mix(c, mix(SHADE * 0.6, HORIZON * 0.7, 1.0 - exp(-depth * 0.10)), inside(d));
  }
  return c;
}

vec3 silk(vec2 p) {
  vec2 q = p * 1.7 + float(look) * 4.0;
  vec2 a = vec2(fbm(q + time * 0.45), fbm(q + vec2(5.2, 1.3) - time * 0.4));
  vec2 b = vec2(fbm(q + 2.6 * a + vec2(1.7, 9.2) + time * 0.3), fbm(q + 2.6 * a + vec2(8.3, 2.8)));
  float f = fbm(q + 2.8 * b), e = 0.012;
  vec2 slope = vec2(fbm(q + 2.8 * b + vec2(e, 0)) - f, fbm(q + 2.8 * b + vec2(0, e)) - f) / e;
  vec3 c = mix(SHADE * 0.9, ZENITH * 1.25, smoothstep(0.2, 0.6, f));
  c = mix(c, ACCENT, smoothstep(0.35, 0.85, b.x) * 0.85);
  c = mix(c, HORIZON, smoothstep(0.45, 0.78, a.y * 0.6 + f * 0.6));
  c *= 0.72 + 0.55 * clamp(0.5 + slope.x * 0.30 + slope.y * 0.42, 0.0, 1.2);
  return c + SUN * 0.55 * pow(clamp(0.35 + slope.y * 0.35 - slope.x * 0.2, 0.0, 1.0), 5.0);
}

vec3 grade(vec3 c, vec2 p) {
  c = clamp(c / (1.0 + 0.22 * c) * 1.16, 0.0, 1.0);
  float l = dot(c, vec3(0.299, 0.587, 0.114));
  if (look == 0) c = mix(vec3(l), c, 1.06) * vec3(1.05, 0.99, 0.92);
  if (look == 1) c = mix(vec3(l), c, 1.14) * vec3(0.98, 1.01, 1.04);
  if (look == 2) c = mix(vec3(l), c, 1.10) * vec3(1.03, 0.95, 1.06);
  if (look == 3) c = mix(mix(vec3(l), c, 1.05), mix(vec3(0.0, 0.10, 0.12), vec3(1.0, 0.93, 0.80), l), 0.10);
  c = clamp(c, 0.0, 1.0);
  c = mix(c, c * c * (3.0 - 2.0 * c), 0.40);
  return c * (1.0 - 0.42 * dot(p, p) * 0.9);
}

void main() {
  vec2 p = (gl_FragCoord.xy - 0.5 * size) / min(size.x, size.y * 1.0);
  p *= min(size.x, size.y) / size.y;
  vec2 screen = p;
  float s = time * time * (3.0 - 2.0 * time);
  if (look == 0) p *= 1.0 - 0.10 * s;
  if (look == 1) p = p * 0.94 + vec2(0.05 * s - 0.025, 0.0);
  if (look == 2) p = p * 0.95 + vec2(0.0, 0.03 * s - 0.015);
  if (look == 3) { float r = 0.018 * (s - 0.5); p = mat2(cos(r), -sin(r), sin(r), cos(r)) * p * (0.92 + 0.07 * s); }
  if (size.x < size.y) p *= 0.82;
  color = vec4(clamp(grade(SCENE(p), screen), 0.0, 1.0), 1.0);
}
