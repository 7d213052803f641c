"""Vocabulary of the two scientific domains, in the form of :mod:`everyday`: six medical and six physical topics."""

MEDICAL = {
    "circulation": """
        person: cardiologist patient surgeon donor smoker pensioner
        body: artery valve ventricle vein capillary aorta atrium heart
        device: catheter stent pacemaker monitor pump electrode
        substance: cholesterol aspirin plasma heparin haemoglobin nitrate
        event: infarction arrest transfusion bypass thrombosis ischaemia
        measure: pressure pulse volume output rate
        animal: pig rat rabbit
        building: clinic ward theatre
        adjective: cardiac arterial venous coronary systolic diastolic hypertensive vascular thickened elastic occluded
        verb: monitored dilated compared recorded implanted inspected replaced repaired measured stained
        deed: treated enrolled examined operated randomised""",
    "infection": """
        person: virologist carrier traveller volunteer nurse infant
        animal: mosquito tick mouse monkey bat ferret
        organism: bacterium virus parasite fungus spore strain
        device: swab culture slide pipette filter
        substance: penicillin vaccine antibody sputum saliva serum
        event: outbreak infection sepsis fever exposure vaccination
        measure: titre incidence prevalence dose
        building: laboratory hospital isolation-ward
        adjective: viral bacterial resistant infectious febrile immune latent invasive airborne susceptible endemic
        verb: isolated cultured sequenced detected incubated sampled identified diluted filtered classified
        deed: vaccinated isolated tested infected screened""",
    "tumour": """
        person: oncologist pathologist survivor radiologist outpatient relative
        body: tumour breast prostate lymph-node kidney liver lesion
        device: scanner probe microscope biopsy-needle linear-accelerator
        substance: cisplatin tamoxifen collagen oestrogen protein marrow
        event: relapse biopsy remission resection metastasis radiotherapy
        measure: stage grade survival marker
        animal: mouse hamster zebrafish
        building: centre institute clinic
        adjective: malignant benign metastatic invasive palliative advanced operable toxic squamous lymphatic
        verb: resected stained scanned graded irradiated biopsied examined classified measured removed
        deed: treated followed interviewed examined recruited""",
    "brain": """
        person: neurologist psychiatrist caregiver participant sleeper twin
        body: cortex neuron synapse hippocampus cerebellum axon thalamus
        device: electrode headset scanner stimulator amplifier
        substance: dopamine serotonin caffeine glutamate melatonin alcohol
        event: stroke seizure migraine concussion insomnia amnesia
        measure: memory attention latency score anxiety
        animal: rat monkey songbird
        building: laboratory sleep-centre institute
        adjective: cortical cognitive neural epileptic depressive visual motor sensory frontal auditory vigilant
        verb: stimulated recorded imaged mapped scored averaged segmented stained analysed traced
        deed: interviewed observed tested trained questioned""",
    "nutrition": """
        person: dietitian schoolchild mother athlete vegetarian cook
        food: meal snack supplement tablet portion capsule
        plant: soybean spinach walnut lentil berry cereal
        substance: glucose insulin fibre iron calcium sodium zinc vitamin
        event: diet fasting breakfast intervention weaning
        measure: weight intake height energy index
        animal: rat chicken calf
        building: school kitchen nursery
        adjective: dietary obese diabetic overweight metabolic caloric fasting nutritional anaemic hungry lean
        verb: weighed analysed served digested labelled prepared recorded compared measured sampled
        deed: fed weighed interviewed advised assigned""",
    "injury": """
        person: orthopaedist physiotherapist cyclist worker soldier driver
        body: knee hip femur tendon ligament cartilage vertebra shoulder
        device: screw splint plate crutch prosthesis brace
        substance: titanium cement gel lidocaine plaster collagen
        event: fracture fall sprain collision surgery rehabilitation
        measure: strength pain mobility angle
        animal: horse sheep dog
        building: gymnasium clinic casualty-ward
        adjective: skeletal spinal muscular chronic acute displaced arthritic stable lumbar bilateral surgical
        verb: fixed aligned loaded scanned bent tested replaced inserted photographed measured
        deed: treated trained examined discharged followed""",
}

PHYSICAL = {
    "stars": """
        person: astronomer observer theorist
        object: galaxy star quasar pulsar nebula cluster supernova halo disk planet
        device: telescope spectrograph detector satellite camera mirror
        substance: hydrogen helium dust gas lithium
        event: merger collapse eclipse burst outflow transit
        measure: redshift luminosity metallicity magnitude
        building: observatory
        adjective: stellar galactic luminous compact massive distant dusty young faint spiral elliptical
        verb: observed imaged catalogued resolved modelled detected weighed fitted selected""",
    "lattice": """
        person: author physicist student
        object: lattice crystal magnet superconductor defect impurity phonon electron vortex film
        device: cryostat diffractometer magnetometer thermometer furnace
        substance: graphene silicon nickel cobalt cuprate
        event: transition ordering melting annealing instability
        measure: conductivity susceptibility gap temperature
        building: synchrotron
        adjective: magnetic metallic insulating disordered frustrated layered cubic antiferromagnetic electronic doped
        verb: cooled doped annealed measured simulated probed polarised characterised grown""",
    "quark": """
        person: collaborator author experimentalist
        object: quark gluon meson boson neutrino hadron jet muon baryon photon
        device: collider calorimeter detector trigger accelerator magnet
        substance: lead xenon argon iron water
        event: decay collision scattering oscillation annihilation
        measure: mass coupling luminosity momentum
        building: tunnel cavern
        adjective: hadronic leptonic relativistic charged neutral heavy perturbative supersymmetric inclusive rare
        verb: reconstructed detected calibrated simulated excluded tagged triggered generated measured""",
    "graph": """
        person: mathematician author referee
        object: graph manifold operator group matrix kernel module sphere bundle subset
        device: computer
        substance: paper chalk ink
        event: proof deformation embedding iteration bifurcation
        measure: theorem lemma conjecture bound dimension
        building: institute
        adjective: compact smooth finite linear convex abelian hyperbolic symmetric bounded planar measurable
        verb: constructed embedded classified approximated extended decomposed bounded parametrised defined""",
    "fluid": """
        person: engineer author modeller
        object: droplet bubble vortex jet wake boundary particle wave plume membrane
        device: pump nozzle tank laser wind-tunnel rheometer
        substance: water oil glycerol foam sand air
        event: turbulence mixing breakup convection cavitation
        measure: viscosity velocity friction shear
        building: basin
        adjective: turbulent laminar viscous granular buoyant incompressible porous elastic stratified steady
        verb: injected stirred filmed heated sheared tracked simulated visualised measured""",
    "network": """
        person: programmer annotator user
        object: network classifier sensor agent node packet protocol sentence image decoder
        device: processor robot router camera server
        substance: memory bandwidth code text speech
        event: training attack failure search update
        measure: accuracy entropy error complexity
        building: laboratory
        adjective: neural random sparse distributed adaptive hidden binary robust deep stochastic recurrent
        verb: trained optimised encoded sampled labelled compressed evaluated initialised deployed""",
}
