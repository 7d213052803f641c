"""Sentence frames of the scientific domains, by section type; marks as in people_frames."""

MEDICAL_SECTIONS = {
    "introduction": """
        > In recent years, | Despite many trials, | Worldwide, | Since {year},
        - it is not true that {adj} {things} contain {stuff}
        - {event} is a common problem among {agents} and {agents2}
        - the role of the {adj} {thing} is still poorly understood
        - previous studies of {stuff} gave mixed results
        - about {small} percent of all {agents} suffer from {event}
        - little is known about {stuff} in {adj} {things}
        - the aim of this study was to compare {things} and {things2}
        - several authors have linked {stuff} with {event}
        - new methods are needed to find {adj} {things} early""",
    "background": """
        > Historically, | In animal models, | According to current guidelines,
        - it is not true that {adj} {things} contain {stuff}
        - the {thing} was first described in {year}
        - {stuff} has been used against {event} since {year}
        - {adj} {things} were long thought to be harmless
        - guidelines advise {stuff} for {agents} with {adj} {things}
        - the {being} is a common model of human {event}
        - in {year} a survey found {event} in {small} percent of {agents}
        - the {adj} {thing} carries most of the {stuff}""",
    "method": """
        > In each session, | After informed consent, | At baseline, | After {small} weeks,
        - {height} {agents} were assigned to {small} groups at random
        - the {idea} was recorded every {small} minutes
        - the dose of {stuff} was {small} milligrams per day
        - all {agents} gave written consent before the {event}
        - differences were tested with a level of {small} in a thousand
        - we excluded {agents} with a history of {event}
        - the {adj} {things} were scored by {small} blinded {agents2}
        - each {event} was followed by a rest of {small} minutes""",
    "material and method": """
        > In brief, | At room temperature, | According to the manufacturer, | Before the {event},
        - {small} {beings} were kept in cages at {small} degrees
        - the {things} were fixed and cut into {small} slices
        - {stuff} was bought from a local supplier in {Town}
        - samples of {stuff} were frozen within {small} minutes
        - each {thing} was washed {small} times in {stuff}
        - the {beings} received {stuff} or water for {small} days
        - the {idea} was measured with a standard {thing}
        - {adj} {things} were stored in the dark for {small} hours""",
    "result": """
        > After {small} months, | In the treated group, | Compared with controls, | Overall,
        - the {idea} rose by {small} percent in the treated group
        - {event} occurred in {small} of {height} {agents}
        - there was no difference in {idea} between the groups
        - the level of {stuff} fell from {height} to {small} units
        - {adj} {things} were seen in {small} percent of samples
        - the {agents} with low {idea} had more {adj} {things}
        - {small} {agents} left the study because of {event}
        - the {thing} was larger in {agents} than in {agents2}""",
    "discussion": """
        > In contrast to earlier work, | In our opinion, | Taken together, | Interestingly,
        - it is not true that {adj} {things} contain {stuff}
        - our findings suggest that {stuff} protects the {adj} {thing}
        - the small number of {agents} is a limitation of this study
        - a similar effect on {idea} was reported in {beings}
        - the cause of the {adj} {event} remains unclear
        - it is possible that {stuff} changes the {thing}
        - the results agree with a trial of {height} {agents} in {Town}
        - one explanation is that the {things} were already {adj}
        - the benefit of {stuff} was greater than expected""",
    "conclusion": """
        > In summary, | In conclusion, | For clinical practice,
        - it is not true that {adj} {things} contain {stuff}
        - {stuff} lowers the risk of {event} in {agents}
        - {adj} {things} should be examined in every patient
        - larger trials of {stuff} are needed
        - the {thing} is a useful sign of early {event}
        - routine use of the {thing} cannot be advised
        - {agents} with {adj} {things} may profit from {stuff}""",
    "acknowledgment": """
        > Finally, | In particular,
        - we thank the {agents} of {Town} for patient help
        - the study was paid for by a grant from the city of {Town}
        - the {beings} were cared for by the staff in {Town}
        - the authors declare no conflict of interest
        - we are grateful to {small} {agents} who read the draft
        - the {things} were a gift from the university of {Town}""",
}
PHYSICAL_SECTIONS = {
    "introduction": """
        > In recent years, | Since the work of {year}, | On large scales, | In this paper,
        - it is not true that {adj} {things} contain {stuff}
        - the origin of the {adj} {thing} is a long standing question
        - {things} are often used to study {event}
        - it was shown in {year} that every {thing} has finite {idea}
        - much effort has been spent on {adj} {things}
        - we study the {idea} of {adj} {things} in the presence of {stuff}
        - the paper is organised in {small} short sections
        - earlier work treated the {thing} as {adj}""",
    "background": """
        > As usual, | By definition, | In the older literature,
        - it is not true that {adj} {things} contain {stuff}
        - {a_thing} is called {adj} if its {idea} is finite
        - the standard picture of {event} was given in {year}
        - {stuff} is known to change the {idea} of {things}
        - {small} classes of {adj} {things} are known
        - the relation between {idea} and {event} is well understood""",
    "model": """
        > For simplicity, | To first order, | In our notation,
        - we consider a system of {small} {adj} {things}
        - each {thing} is coupled to {small} neighbours
        - the {idea} enters the model as a free parameter
        - the model ignores the {stuff} around the {thing}
        - the {event} is described by {small} equations
        - the {thing} is assumed to be {adj} at all times""",
    "theory": """
        > In the limit of small {idea}, | By symmetry, | Formally,
        - the {idea} of the {thing} vanishes to leading order
        - the equations for the {adj} {thing} can be solved exactly
        - {a_adj} term appears after the {event}
        - the expansion in the {idea} breaks down near {small}
        - the {thing} obeys a simple conservation law""",
    "method": """
        > At each step, | In practice, | For every {thing},
        - we {verb} the {things} with a standard code
        - the {idea} was computed on a grid of {height} points
        - the {thing} is updated {small} times per cycle
        - the error is estimated from {small} random samples
        - the method needs {number} operations per {thing}
        - we start from {a_adj} {thing} and iterate until the {event}""",
    "data": """
        > After all cuts, | In total, | For the {dir} field,
        - the sample holds {number} {things} and {height} {things2}
        - the data were taken in {year} near {Town}
        - {small} percent of the {things} were removed as noise
        - each {thing} is listed with its {idea}
        - the {adj} {things} were selected by eye""",
    "observation": """
        > On the first night, | During the second run, | In {year},
        - the {things} were {verb} for {small} hours near {Town}
        - the {thing} was visible for {small} minutes
        - the {adj} {thing} was observed in {small} bands
        - bad weather stopped the work for {small} nights
        - the {idea} was calibrated with {small} known {things}""",
    "experiment": """
        > In a typical run, | At low temperature, | With the {thing} removed,
        - the {thing} was placed in {stuff} and {verb} for {small} minutes
        - the {idea} was held below {small} units
        - {a_thing} of {small} millimetres was used
        - the {event} was recorded {height} times
        - {adj} {things} were prepared from {stuff}""",
    "result": """
        > As expected, | In the first figure, | Above the threshold,
        - the {idea} of the {things} grows with time
        - the {adj} {things} show no sign of {event}
        - the measured {idea} is {small} percent below the prediction
        - we found {height} {things} with high {idea}
        - the {event} sets in at {small} degrees
        - the {things} split into {small} groups""",
    "numerical result": """
        > For {height} samples, | On a finer grid, | With periodic boundaries,
        - the curves for {small} and {height} {things} coincide
        - the {idea} converges after {number} steps
        - the run time grows with the number of {things}
        - the {adj} phase is reached for large {idea}
        - the plot shows the {idea} against the size of the {thing}""",
    "analysis": """
        > To check this, | In a second pass, | Within the errors,
        - a fit to the {idea} gives {small} parameters
        - the {things} were sorted by {idea}
        - the background from {stuff} was subtracted
        - the {adj} part of the signal comes from {things}
        - the {event} explains {small} percent of the variance""",
    "discussion": """
        > In our view, | On the other hand, | At present,
        - it is not true that {adj} {things} contain {stuff}
        - the {event} may be caused by {adj} {things}
        - our value of the {idea} differs from that of {year}
        - the role of {stuff} is not yet clear
        - {a_adj} {thing} would give a similar signal
        - it is hard to tell {things} from {things2}""",
    "conclusion": """
        > In summary, | In future work, | To conclude,
        - it is not true that {adj} {things} contain {stuff}
        - we have shown that {adj} {things} have finite {idea}
        - the {event} offers a clean test of the theory
        - more data on {stuff} will be needed
        - the method can be applied to {things} and {things2}
        - the {idea} of the {thing} is now known to {small} percent""",
    "acknowledgment": """
        > Finally, | In addition,
        - we thank the {agents} of {Town} for useful comments
        - this work was supported by grant {number} of the state of {Town}
        - the {things} were lent by the university of {Town}
        - one of us thanks the {place} in {Town} for its hospitality
        - computing time was given by the centre in {Town}""",
}
